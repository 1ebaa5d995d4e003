complete -c ctx-snapshot -s s -l session -d 'Name the session [default: the id in an agent\'s own file, else made of the file\'s name and path]' -r
complete -c ctx-snapshot -l show -d 'Write the bytes of a snapshot' -r
complete -c ctx-snapshot -l diff -d 'Show which messages two snapshots, or a snapshot and a file, do not share' -r
complete -c ctx-snapshot -l since -d 'List only what is not older than a day or a time: 2026-11-15, "1 week ago"' -r
complete -c ctx-snapshot -l before -d 'List only what is older than a day or a time' -r
complete -c ctx-snapshot -l hold -d 'Keep a snapshot, whatever ctx-gc is told' -r
complete -c ctx-snapshot -l release -d 'Let ctx-gc decide about it again' -r
complete -c ctx-snapshot -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-snapshot -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-snapshot -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-snapshot -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-snapshot -l list -d 'List the snapshots, the newest first, of all sessions, of one (-s) or of FILE'
complete -c ctx-snapshot -l log -d 'Tell the history of a session, of -s or of FILE, the newest first'
complete -c ctx-snapshot -l verify -d 'Check that every snapshot is there and whole, of one session with -s'
complete -c ctx-snapshot -l read-data -d 'Check all bytes against their hashes, those of offloaded results, too'
complete -c ctx-snapshot -l repair -d 'Repair what can be repaired without losing anything, then check'
complete -c ctx-snapshot -l raw -d 'Show the lines instead, as JSON'
complete -c ctx-snapshot -l trash -d 'List what ctx-gc has moved to the trash instead, and how long it stays there'
complete -c ctx-snapshot -l json -d 'Print JSON, an object a line: of each snapshot its meta.json'
complete -c ctx-snapshot -l count -d 'Count the tokens too, for --list and meta.json'
complete -c ctx-snapshot -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-snapshot -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-snapshot -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-snapshot -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-snapshot -s V -l version -d 'Print version'
