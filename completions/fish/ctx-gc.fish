complete -c ctx-gc -s s -l session -d 'Look at one session only' -r
complete -c ctx-gc -l keep-days -d 'Keep those of the last N days, from now [default: the policy\'s, else 7, when there is no other rule]' -r
complete -c ctx-gc -l keep-last -d 'Keep the newest N' -r
complete -c ctx-gc -l keep-hourly -d 'Keep the newest of each of the last N hours that have one' -r
complete -c ctx-gc -l keep-daily -d 'Keep the newest of each of the last N days that have one' -r
complete -c ctx-gc -l keep-weekly -d 'Keep the newest of each of the last N weeks that have one' -r
complete -c ctx-gc -l keep-monthly -d 'Keep the newest of each of the last N months that have one' -r
complete -c ctx-gc -l keep-yearly -d 'Keep the newest of each of the last N years that have one' -r
complete -c ctx-gc -l keep-within -d 'Keep those not older than SPAN, seen from the newest: 1y6mo, 14d, 36h' -r
complete -c ctx-gc -l floor-days -d 'Let the newest snapshot of a session go when it is older than N days [default: it stays]' -r
complete -c ctx-gc -l undelete -d 'Bring back from the trash: an ID, "all", or what was removed since a time' -r
complete -c ctx-gc -l grace-days -d 'Keep what is in the trash, and unnamed offloaded files, for N days' -r
complete -c ctx-gc -l pack-after-days -d 'Pack the bytes of snapshots that are older than N days [default: the policy\'s, else 1]' -r
complete -c ctx-gc -l preset -d 'Go by this policy; ctx-compact --show-preset NAME prints it' -r
complete -c ctx-gc -l config -d 'Read a policy from FILE: TOML, or the JSON of a system it comes from' -r -F
complete -c ctx-gc -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-gc -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-gc -s n -l dry-run -d 'Show what would be done, and do nothing'
complete -c ctx-gc -l json -d 'Print a JSON object a snapshot or offloaded file'
complete -c ctx-gc -l no-floor -d 'Let even the newest snapshot of a session go where no rule keeps it'
complete -c ctx-gc -l list-trash -d 'List what is in the trash, and how long it stays there'
complete -c ctx-gc -l purge -d 'Empty the trash now'
complete -c ctx-gc -l trust-clock -d 'Go on although the clock jumped by more than a day, by all that was seen'
complete -c ctx-gc -l forget -d 'Delete snapshots, trash and offloaded files of a session for good'
complete -c ctx-gc -l no-pack -d 'Leave all bytes as they are'
complete -c ctx-gc -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-gc -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-gc -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-gc -s V -l version -d 'Print version'
