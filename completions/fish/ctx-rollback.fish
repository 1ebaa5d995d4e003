complete -c ctx-rollback -s s -l session -d 'Name the session [default: the id in an agent\'s own file, else made of the file\'s name and path]' -r
complete -c ctx-rollback -l snapshot -d 'Restore this snapshot' -r
complete -c ctx-rollback -l before -d 'Restore the newest snapshot that was taken before a day or a time' -r
complete -c ctx-rollback -l to -d 'Restore onto another path than the snapshot was taken of; - is stdout' -r -F
complete -c ctx-rollback -l min-idle -d 'Leave a session alone that changed less than DURATION ago [default: 10m for an agent\'s own file, else 0s]' -r
complete -c ctx-rollback -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-rollback -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-rollback -l undo -d 'Restore what the last rollback or compaction replaced'
complete -c ctx-rollback -s n -l dry-run -d 'Show what would be done, and do nothing'
complete -c ctx-rollback -l json -d 'Print what was done as a JSON object; docs/json.md has all keys'
complete -c ctx-rollback -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-rollback -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-rollback -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-rollback -s V -l version -d 'Print version'
