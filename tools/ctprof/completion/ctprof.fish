# Completion of ctprof's command line for fish. `ctprof complete` prints the candidates.

function __ctprof_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l head (string match -r -- '^--[^=]+=' "$cur"; or echo '')
    for line in ($words[1] complete $words[2..-1] "$cur" 2>/dev/null)
        switch $line
            case ':files'
                for path in (__fish_complete_path (string sub -s (math (string length -- "$head") + 1) -- "$cur"))
                    echo $head$path
                end
            case ':directories'
                for path in (__fish_complete_directories (string sub -s (math (string length -- "$head") + 1) -- "$cur"))
                    echo $head$path
                end
            case '*'
                echo $line
        end
    end
end

complete -c ctprof -f -a '(__ctprof_complete)'
