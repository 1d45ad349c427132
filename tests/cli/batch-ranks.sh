# gemkv batch under mpirun: documents go to whichever rank is free, and each once; what any rank has done is not done again.
several_processes

for i in $(seq 24); do head -n $((1 + i % 7)) text | sed "s/cat/cat $i/" >text.$i; done
awk 'BEGIN {
    for (i = 0; i < 72; i++)
        if (i % 17 == 3) printf "{\"id\": \"r%d\", \"file\": \"none\", \"question\": \"Who?\"}\n", i
        else printf "{\"id\": \"r%d\", \"file\": \"text.%d\", \"question\": \"Who sat on mat %d?\"}\n", i, i % 24 + 1, i
}' >rows
few="-t 1 -k 96 -n 4"
answers() { sed 's/.*\("id": "[^"]*"\).*\("\(answer\|error\)": "[^"]*"\).*/\1 \2/' "$@" | sort; }
gemkv batch -q --in rows --out alone $few 2>err; echo "status $?"
answers alone >expected
for mpi in $mpis; do
    ranks() { mpirun.$mpi -n 3 sh -c 'gemkv batch "$@" || test $? = 6' sh "$@"; }
    echo "-- each row once, and the figures of all"
    ranks --in rows --out a.%s $few 2>err
    tail -n 1 err
    cat a.1 a.2 a.3 | wc -l
    answers a.1 a.2 a.3 | cmp - expected && echo "the same answers"
    rm a.?
    echo "-- what one process had done, and what another rank had"
    head -n 30 rows >beginning
    gemkv batch -q --in beginning --out a.2 $few 2>err
    head -n 10 a.2 >a.3
    sed -i '1,10d' a.2
    ranks --in rows --out a.%s $few 2>err
    tail -n 1 err
    answers a.1 a.2 a.3 | cmp - expected && echo "the same answers"
    echo "-- again: nothing is left"
    ranks --in rows --out a.%s $few 2>err
    cat a.1 a.2 a.3 | wc -l
    ranks -q --in rows --out a.%s $few --retry 1 2>err
    cat a.1 a.2 a.3 | wc -l
    rm a.?
    echo "-- one that cannot write ends all"
    mkdir a.2
    ranks -q --in rows --out a.%s $few >out 2>err && echo "not said"
    grep -q "gemkv: a.2: " err && echo "said"
    rmdir a.2
    rm -f a.?
done
