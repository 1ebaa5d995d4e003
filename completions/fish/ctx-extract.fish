complete -c ctx-extract -l kind -d 'Extract only this kind; can be repeated' -r -f -a "decision\t'What was settled'
fact\t'Statements that name a project, a path or a setting'
preference\t'How the user wants things'
runtime\t'Tool calls in short, and their errors'"
complete -c ctx-extract -l zone -d 'Read this zone [default: old; without tags all but system messages]' -r -f -a "old\t'What is to be summarized'
keep\t'What stays'
system\t'System and developer messages'
all\t'Everything'"
complete -c ctx-extract -s s -l session -d 'Name the session [default: the id in an agent\'s own file, else made of the file\'s name and path; "stdin" for stdin]' -r
complete -c ctx-extract -l into -d 'Merge into DIR/extracted/*.md and pass the input on' -r -F
complete -c ctx-extract -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-extract -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-extract -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-extract -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-extract -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-extract -l into-store -d 'Merge into the store\'s memory, as --into STORE/memory'
complete -c ctx-extract -l partial -d 'Accept a tagged stream that ended early'
complete -c ctx-extract -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-extract -l json -d 'Print what was done as a JSON object'
complete -c ctx-extract -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-extract -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-extract -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-extract -s V -l version -d 'Print version'
