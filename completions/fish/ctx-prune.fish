complete -c ctx-prune -l max-chars -d 'Trim results with more than N characters [default: 10000]' -r
complete -c ctx-prune -l head-share -d 'Share of that limit kept of a result\'s beginning [default: 0.3]' -r
complete -c ctx-prune -l tail-share -d 'Share of that limit kept of a result\'s end [default: 0.3]' -r
complete -c ctx-prune -l rescue-lines -d 'Lines that look like errors, kept of what is cut out [default: 10]' -r
complete -c ctx-prune -l placeholder -d 'What --clear puts there' -r
complete -c ctx-prune -l drop -d 'Drop what is needless (can be repeated)' -r -f -a "superseded\t'Results of reading a file that was read or written again later'
duplicates\t'Results that a later result of the same tool repeats'
noise\t'Terminal escapes and base64 inside results'
reasoning\t'Reasoning before the latest turn, and messages that are empty without it'
empty\t'Replies that say nothing and call nothing'
dead-branches\t'Lines of an agent\'s own file on branches that were left or taken back'
before-compaction\t'Lines of an agent\'s own file that a compaction stands for'
rewritten\t'Lines of an agent\'s own file that a later line says anew'
sidechains\t'Lines of an agent\'s own file of the helpers that it ran (sidechains)'
progress\t'Lines of an agent\'s own file that show the progress of a tool'
file-history\t'Lines of an agent\'s own file to put files back with: it cannot any more'
copies\t'Second copies of results in an agent\'s own file, for its screen'"
complete -c ctx-prune -l max-argument-chars -d 'Trim strings inside call arguments with more than N characters' -r
complete -c ctx-prune -l window-messages -d 'Drop all but system messages and the last N; exchanges stay whole' -r
complete -c ctx-prune -l protect-last -d 'Leave the last N assistant messages alone, and all that follows' -r
complete -c ctx-prune -l allow-tool -d 'Change only results of tools whose name matches (can be repeated)' -r
complete -c ctx-prune -l deny-tool -d 'Change no results of tools whose name matches (can be repeated)' -r
complete -c ctx-prune -l pin -d 'Leave these records alone: role:NAME, line:N, line:N-M or re:REGEX' -r
complete -c ctx-prune -l zone -d 'Prune only records that ctx-split put into this zone' -r -f -a "old\t'What is to be summarized'
keep\t'What stays'"
complete -c ctx-prune -l min-gain -d 'Change nothing when all of it would free fewer tokens' -r
complete -c ctx-prune -l cache-ttl -d 'Change nothing unless the last call is older: 5m, 90s or 1h' -r
complete -c ctx-prune -l last-call -d 'When the last call was, if the records do not tell' -r
complete -c ctx-prune -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-prune -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-prune -l min-idle -d 'Leave a session alone that changed less than DURATION ago [default: 10m for an agent\'s own file, else 0s]' -r
complete -c ctx-prune -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-prune -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-prune -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-prune -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-prune -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-prune -l trim -d 'Trim long tool results: keep beginning, end, and errors between'
complete -c ctx-prune -l clear -d 'Put a placeholder in the place of tool results that nothing protects'
complete -c ctx-prune -s n -l dry-run -d 'Show by rule what would be freed, and write no records'
complete -c ctx-prune -l strict -d 'Fail when the input breaks a rule of its API already'
complete -c ctx-prune -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-prune -l new -d 'Write an agent\'s session beside FILE under a new id, and print its path'
complete -c ctx-prune -s i -l in-place -d 'Write over FILE itself: as -o with the same name'
complete -c ctx-prune -l json -d 'Print what was done as a JSON object'
complete -c ctx-prune -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-prune -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-prune -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-prune -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-prune -s V -l version -d 'Print version'
