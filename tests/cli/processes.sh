# gemkv as several processes of mpirun, with each MPI library that there is.
several_processes

for i in 1 2 3 4 5 6; do cat text; done >long
all_but_costs() { sed 's/"seconds".*"kept"/"kept"/; s/"predicted.*//; s/"schedule_reason": "[^"]*", //'; }
gemkv ask --json --schedule layer -t 1 -k 120 -n 8 --chunk 512 -f long 'What is the pass key?' | all_but_costs >alone
for mpi in $mpis; do
    run() { n=$1; shift; mpirun.$mpi -n "$n" gemkv "$@"; }
    for n in 2 4; do
        run $n ask --json -t 1 -k 120 -n 8 --chunk 512 -f long 'What is the pass key?' | all_but_costs | cmp - alone &&
            echo "$n processes: the same answer, tokens and scores"
    done
    run 3 ask --json -t 1 -k 120 -n 1 --schedule layer -f long x >costs
    sed 's/.*"first": \([^,]*\),.*"processes": {"number": \(.\), "waited": \([^}]*\)}.*/\1 \2 \3/' costs |
        awk '{ print $2 " processes; " ($3 > 0 && $3 < $1 ? "waited for less than all of the first pass" : $0) }'
    run 2 ask -v -t 1 -k 120 -n 1 --schedule layer -f long x 2>&1 >out | grep -o 'shared by . processes; this one waited'
    # Keys and values of a block are many pieces of what travels at once.
    large="-m $cases/../../data/gemkv-mini-q8_0.gguf -t 1 -k 120 --layer 2 --schedule layer -f long"
    for n in 2 3; do
        GEMKV_CPU='' run $n select --json $large 'Who sat?' | all_but_costs
        GEMKV_CPU='' gemkv select --json $large 'Who sat?' | all_but_costs
    done | uniq | wc -l
    echo "-- questions, one after the other; a document on standard input"
    printf 'What is the pass key?\nWho sat?\n' >questions
    run 3 ask --json -t 1 -k 120 -n 4 --questions questions -f long | grep -c '"answer"'
    run 3 select -q -t 1 -k 120 'Who sat?' <long | cmp - "$(gemkv select -q --schedule layer -t 1 -k 120 -f long 'Who sat?' >sat; echo sat)" &&
        echo "the same passages"
    echo "-- what is wrong is said once"
    run 3 ask --nonsense >out 2>err; echo "status $?"; grep gemkv: err | grep -v mpirun
    run 3 ask -m none.gguf -f long x >out 2>err; echo "status $?"; grep gemkv: err
    run 2 ask -f long --schedule chunk x >out 2>err; echo "status $?"; grep gemkv: err
    run 2 ask -k 100 -n 2 -f text --method snapkv x >out 2>err; echo "status $?"; grep gemkv: err
    run 2 ask -f none x >out 2>err; test $? -ne 0 && echo "failed"; grep gemkv: err
    GEMKV_PLUGIN_DIR=/nowhere run 2 ask -f long x >out 2>err; test $? -ne 0 && echo "failed"; grep gemkv: err | sed 's/-[a-z]*\.so/-MPI.so/'
    mkdir -p other
    echo "no plugin" >other/gemkv-$mpi.so
    GEMKV_PLUGIN_DIR=$PWD/other run 2 ask -f long x >out 2>err; test $? -ne 0 && echo "failed"
    grep -c "gemkv: 2 processes were started, and cannot be connected: .*/other/gemkv-$mpi.so" err
    rm other/gemkv-$mpi.so
    echo "-- a process that dies"
    run 2 select -t 1 --schedule layer -k 120 -f - 'Who sat?' <&3 >killed 2>err &
    sleep 1
    pid=$(pgrep -f "gemkv select -t 1 --schedule layer -k 120 -f - Who" | tail -n 1)
    kill -KILL "$pid"
    wait $!
    test $? -ne 0 && echo "all end"
done 3<>"$(mkfifo fifo; echo fifo)"
