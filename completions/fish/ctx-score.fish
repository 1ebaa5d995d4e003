complete -c ctx-score -l future -d 'The whole session that BEFORE begins: score what was needed later, too' -r -F
complete -c ctx-score -l window-tokens -d 'What a plain window may hold, for `A_ctxfar` [default: the tokens of AFTER]' -r
complete -c ctx-score -l evidence -d 'Score questions, each with quotes that answer it, too (JSON)' -r -F
complete -c ctx-score -l list -d 'Print the items of one standing, or the questions, one a line' -r -f -a "retained\t'What stands in AFTER'
recoverable\t'What AFTER refers to, or a snapshot has'
lost\t'What is nowhere'
questions\t'The questions of --evidence: + kept, - lost, ? not in BEFORE either'"
complete -c ctx-score -s j -l jobs -d 'Score N conversations of a --batch at a time [default: one per core]' -r
complete -c ctx-score -l min -d 'Exit with 1 when the share of items kept is under N, from 0 to 1' -r
complete -c ctx-score -l min-evidence -d 'Exit with 1 when the evidence recall is under N, from 0 to 1' -r
complete -c ctx-score -s s -l session -d 'Look only at this session\'s snapshots and offloaded files' -r
complete -c ctx-score -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-score -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-score -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-score -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-score -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-score -l json -d 'Print one JSON object'
complete -c ctx-score -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-score -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-score -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-score -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-score -s V -l version -d 'Print version'
