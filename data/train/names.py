"""Names and words that generated facts and questions are made of."""

FIRST = """Abigail Abraham Ada Adam Adela Agnes Aisha Alan Albert Alexander Alfred Alice Alma Amelia Amina Amos Andrea
Andrew Angela Anita Anna Anne Annika Anthony Arjun Arthur Astrid Audrey Augusta Aurora Barbara Basil Beatrice Beatrix Benjamin
Bernard Bertha Boris Brenda Brian Bridget Bruno Caleb Camilla Carl Carla Carlos Carol Caroline Catherine Cecil Cecilia Charles
Charlotte Chen Chloe Christian Christina Clara Claude Clement Conrad Constance Cora Cornelius Cyril Daisy Daniel Daphne David
Deborah Denis Diana Diego Dmitri Dora Dorothy Douglas Edgar Edith Edmund Edna Edward Edwin Eleanor Elena Eliza Elizabeth Ella
Ellen Elsa Emil Emilia Emily Emma Enid Eric Erica Ernest Esther Ethel Eugene Eva Evelyn Fabian Farid Fatima Felix Fergus Fiona
Flora Florence Frances Francis Frank Fred Frederick Gabriel George Gerald Gertrude Gilbert Giovanni Gloria Gordon Grace Greta
Gustav Gwen Hannah Harold Harriet Harry Hassan Hazel Heinrich Helen Helena Henry Herbert Herman Hilda Hiroshi Hugh Hugo Ian Ida
Ignatius Ilse Imogen Ines Ingrid Irene Isaac Isabel Ivan Ivy Jack Jacob James Jane Janet Jasper Javier Jean Jennifer Jerome
Joan Johanna John Jonas Jonathan Jorge Josef Joseph Josephine Juan Judith Julia Julian Juliet Karen Karl Katherine Katya Keith
Kenji Kenneth Klara Konrad Lars Laura Laurence Lena Leo Leonard Leopold Lewis Lila Lillian Linda Lionel Louis Louisa Lucas Lucy
Ludwig Luis Lydia Mabel Magda Magnus Malcolm Marcel Marco Margaret Maria Marianne Marie Marina Mario Marion Marjorie Mark
Martha Martin Mary Matilda Matthew Maud Max Mei Michael Mildred Minna Miriam Mohammed Mona Nadia Nancy Naomi Natalia Nathan
Neil Nicholas Nicola Nikolai Nina Noah Nora Norman Octavia Olaf Olga Oliver Olivia Omar Oscar Oswald Otto Pablo Patricia
Patrick Paul Paula Pauline Pearl Pedro Penelope Percy Peter Petra Philip Philippa Phoebe Pierre Priya Prudence Rachel Rafael
Ralph Raymond Rebecca Regina Richard Rita Robert Roberta Roger Roland Rosa Rosalind Rose Rosemary Rupert Ruth Samuel Sandra
Sarah Sebastian Selma Sergei Sheila Sidney Sigrid Silas Simon Sofia Sophie Stanley Stefan Stella Stephen Susan Sven Sylvia
Tabitha Tariq Teresa Thaddeus Theodore Theresa Thomas Tobias Tomas Ursula Valerie Vera Veronica Victor Victoria Vincent Viola
Violet Virginia Vivian Walter Wanda Wei Wilfred Wilhelm William Winifred Xavier Yasmin Yusuf Yvonne Zachary Zelda Zoe""".split()

LAST = """Abara Abbott Ainsworth Alvarez Andersen Armitage Ashby Atherton Bagley Bancroft Barlow Barrow Bellamy Bennett
Bergstrom Birch Blackwood Bloom Bolton Bowman Bradshaw Braithwaite Brandt Bryce Burnett Caldwell Cameron Cardoso Carver
Castellano Chandler Chaudhry Clarke Colby Connolly Corrigan Crane Crawford Cromwell Dalton Davenport Delacroix Dempsey Denholm
Donovan Drummond Dubois Duval Eastwood Eccles Eriksen Fairfax Falk Farrow Faulkner Fenwick Ferrara Finch Fontaine
Forsyth Fournier Gallagher Garland Gibbs Goldstein Goodwin Grantham Greaves Greene Gupta Haddad Hale Hargreaves
Hartley Hawkins Hendricks Hobson Holloway Horvath Huxley Ibarra Ibrahim Inglis Ito Jansen Jarvis Kaminski Kaur Keating Kemp
Khatri Kimura Kirkland Kowalski Kruger Lachance Lambert Langley Larkin Laurent Leclerc Lennox Lindqvist Lockhart Lombardi
Lovell MacBride Maddox Mahoney Marchetti Marlowe Marsh Mbeki McAllister Mendoza Merriweather Middleton Moreau Mortimer Moss
Nakamura Novak Nyberg Oakley Obi Okafor Okonkwo Olsen Orlov Ortega Osborne Paget Palmer Parrish Pemberton Penrose
Petrov Pickering Poole Prescott Quimby Radcliffe Ramsey Redfern Reinhardt Reyes Ridley Rosetti Rostova
Rowntree Salazar Sandoval Santoro Schneider Seymour Shapiro Sheridan Sinclair Skelton Sorensen Spencer Stafford Stanhope
Stirling Strand Sutcliffe Takahashi Talbot Tanner Thackeray Thorne Thornton Tolliver Trelawney Underhill Valdez
Vandermeer Vaughan Vickers Wadsworth Wainwright Wakefield Walcott Warburton Weatherby Webster Whitcombe
Whitfield Wickham Winslow Winterbourne Woolf Yamada Yates Zamora Zhukov Ziegler""".split()

TOWN_HEAD = """Ash Barrow Beck Black Bram Brook Burn Carl Castle Clay Cold Cray Dale Deep Dun East Elm Fal Fern Glen Gold Gran Grey
Har Hart Hazel Hel High Holm Ing Kel Kettle King Kirk Lang Lin Long Mar Mel Mill Mor Nether New North Oak Old Orm Pen Port Pres
Quern Raven Red Ross Row Salt Sand Sel Shel Skel Stan Stone Sun Swan Thorn Thwait Tor Up Vald Vel Wal War West Whit Wind Wolf
Yar""".split()
TOWN_TAIL = (
    """borough bridge bury by castle combe cote dale den don field ford gate ham haven hill holm hurst land leigh ley
market mere minster mouth port ridge sett side stead stoke ton vale wall water wick wold wood worth""".split()
)

PLACE = """Aberdeen Accra Alexandria Algiers Amsterdam Ankara Antwerp Athens Bangkok Barcelona Bath Beirut Belfast Belgrade Bergen
Berlin Bilbao Bologna Bordeaux Boston Bremen Bristol Brussels Bucharest Budapest Cairo Calcutta Cambridge Cardiff Casablanca
Chicago Cologne Copenhagen Cork Dakar Damascus Delhi Denver Detroit Dublin Dresden Edinburgh Florence Geneva Genoa Glasgow
Granada Hamburg Hanoi Havana Helsinki Istanbul Jakarta Kiev Kyoto Lagos Leeds Leipzig Lima Lisbon Liverpool London Lyon Madrid
Manila Marseille Melbourne Milan Montreal Moscow Munich Nairobi Naples Nice Osaka Oslo Oxford Palermo Paris Perth Porto Prague
Quebec Riga Rome Rotterdam Salzburg Santiago Seattle Seoul Seville Shanghai Singapore Sofia Stockholm Sydney Tallinn Tangier
Tehran Tokyo Toronto Trieste Tunis Turin Valencia Venice Vienna Vilnius Warsaw Wellington York Zagreb Zurich Zwolle""".split()

JOB = """accountant actor apothecary archaeologist architect astronomer baker barber beekeeper bishop blacksmith boatbuilder
bookbinder botanist brewer butcher carpenter cartographer chemist clerk clockmaker cobbler composer conductor cook dancer
dentist diplomat doctor dressmaker electrician engineer farmer ferryman fisherman florist gardener geologist glassblower
goldsmith grocer harbour-master historian innkeeper inspector jeweller joiner judge lamplighter lawyer librarian
lighthouse-keeper locksmith mason mathematician mechanic merchant midwife miller miner musician notary nurse painter
pharmacist philosopher photographer physicist pilot plumber poet porter postman potter printer professor saddler sailor
schoolmaster schoolmistress sculptor shepherd shoemaker singer statistician surgeon surveyor tailor tanner teacher
translator undertaker veterinary-surgeon violinist watchmaker weaver zoologist""".split()

THING = """accordion album almanac anchor armchair astrolabe atlas axe bagpipe banner barometer barrel basket bell bellows bicycle
binoculars blanket book boot bottle bowl box bracelet brooch bucket button cabinet camera candle candlestick cane canoe carpet
cello chain chair chalice chess-set chest clarinet clock cloak coat coin compass cradle crown cup dagger desk diary drum
easel envelope fan fiddle flag flask flute fork fountain-pen globe gloves goblet gramophone hammer harp hat helmet hourglass
jug kettle key kite knife ladder lamp lantern ledger letter locket loom lute magnet manuscript map mask medal microscope mirror
necklace needle notebook oar organ painting parasol passport pendulum perfume pillow pipe pistol pocket-watch portrait purse
quilt radio rapier razor ribbon ring robe rope rug saddle scarf sceptre scissors scroll sextant shawl shield shovel skates
sledge spade spectacles spoon stamp-album statue stool suitcase sundial sword tablecloth tapestry teapot telegram telescope
tent thimble ticket toolbox trombone trumpet trunk typewriter umbrella vase veil violin waistcoat wallet watch wheelbarrow
whistle wig windmill wreath""".split()

STUFF = """amber ash bamboo bone brass bronze cedar chalk clay copper coral cork cotton crystal ebony elm enamel felt flax glass
gold granite horn iron ivory jade lace lead leather limestone linen mahogany maple marble nickel oak paper pearl pewter pine
porcelain quartz rosewood rubber sandstone satin silk silver slate steel stone straw tin tweed velvet walnut wax wicker willow
wool zinc""".split()

COLOUR = """amber apricot beige black blue bronze brown cream crimson emerald gold green grey indigo ivory lavender lemon lilac
magenta maroon mauve mustard ochre olive orange pink plum purple red russet scarlet silver tan teal turquoise violet white
yellow""".split()

ANIMAL = """badger bear beaver bee bull butterfly camel cat cockerel cow crane cricket crow deer dog dolphin donkey dove duck eagle
elephant falcon ferret finch fox frog goat goose gull hare hawk hedgehog hen heron horse jackdaw kingfisher kitten lamb lark
lion lizard lobster magpie mole monkey moth mouse mule newt nightingale otter owl ox oyster parrot peacock pelican penguin
pheasant pig pigeon pony quail rabbit ram rat raven robin salmon seal sheep snail sparrow spider squirrel stag starling stork
swallow swan tiger toad tortoise trout turkey turtle weasel whale wolf wren""".split()

FOOD = """almond anchovy apple apricot barley basil bean beetroot biscuit blackberry bread broth butter cabbage cake caramel carrot
celery cheese cherry chestnut chicken chocolate cinnamon clove cocoa coconut coffee cream cucumber currant custard dumpling egg
fennel fig flour garlic ginger gooseberry gravy ham hazelnut honey jam juniper leek lemon lentil lime liquorice mackerel
marmalade melon milk mint molasses mulberry mushroom mustard mutton nutmeg oat olive onion orange parsley pastry pea peach pear
pepper pickle pie plum pork porridge potato pudding pumpkin quince radish raisin raspberry rhubarb rice rosemary saffron sage
sausage soup spinach strawberry sugar syrup tarragon tart tea thyme toffee tomato treacle trout turnip vanilla venison vinegar
walnut wheat""".split()

SPOT = """attic barn bakery basement bathhouse belfry boathouse brewery cabin cathedral cellar chapel churchyard cinema clinic
cloister cottage courthouse crypt custom-house dairy dockyard drawing-room fairground farmhouse ferry foundry gallery garage
gatehouse granary greenhouse guildhall hayloft henhouse herb-garden hospital hotel ice-house inn kennel kitchen laboratory
larder laundry library lighthouse lodge market-hall mill monastery museum nursery observatory orchard palace pantry parlour
pavilion post-office prison pump-room quarry railway-station reading-room rectory refectory restaurant school-house shed
shipyard smithy stable station storehouse study summer-house tannery tavern theatre tower town-hall tunnel vault vestry villa
vineyard warehouse watchtower well windmill workshop""".split()

CONTAINER = """bag barrel basket biscuit-tin bookcase bottle box bucket cabinet case cash-box chest cigar-box coffin crate cupboard
desk drawer envelope filing-cabinet glove-box hamper hatbox jar jewel-case locker picnic-basket pocket safe sack satchel
sewing-box shoebox strongbox suitcase tea-caddy toolbox trunk urn vase wardrobe""".split()

SUBJECT = (
    """budget calendar canal carnival choir climate coastline comet constitution drainage drought elections excavation
exhibition expedition famine festival fire-brigade fisheries flood garden harvest heating housing insurance irrigation kitchen
library lighting music navy orchard orchestra pension plumbing postal-service price-of-bread quarry railway regatta roof safety
school security sewers sports-day staff-canteen strike summer-fair tax theatre timetable tourism traffic transport vaccination
wages water-supply weather wedding wildlife zoo""".split()
)

SPORT = """archery badminton billiards bowls boxing canoeing chess cricket croquet curling cycling darts draughts egg-rolling
fencing gliding golf hockey hurdling kite-flying marathon pumpkin-growing quoits rowing sack-race sailing skating ski-jumping
sledging snooker squash swimming tennis tug-of-war weightlifting wrestling""".split()

ADJECTIVE = (
    """abandoned ancient annual beloved bitter blind brave bright broken calm celebrated clever clumsy cracked crooked
curious damp dangerous deaf distant dusty eccentric empty enormous famous fearless fierce forgotten fragile friendly frozen
generous gentle gifted golden grand grumpy haunted heavy hidden hollow honest hungry invisible jealous lame large lazy leaky
little lonely long lost loud lucky magic melancholy mended merry mighty modest muddy mysterious narrow new noisy old one-eyed
painted pale patient plain polite poor proud quiet rare restless retired rich round royal rusty sacred sad secret shabby
shallow sharp short shy silent simple sleepy slow small solemn spare spotted stolen strange striped stubborn sunken sweet tall
thin tiny tired torn tough travelling ugly unfinished upright useful vain wandering warm weary wild winding wise wooden young
younger""".split()
)

MONTH = "January February March April May June July August September October November December".split()
DAY = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDINAL = "first second third fourth fifth sixth seventh eighth ninth tenth last".split()
NUMBER_WORD = (
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety""".split()
)
