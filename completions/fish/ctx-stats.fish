# Completion of ctx-stats in fish: asks ctx-stats itself.

complete --keep-order --exclusive --command ctx-stats --arguments "(CTX_COMPLETE=fish ctx-stats -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
