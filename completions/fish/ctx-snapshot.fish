# Completion of ctx-snapshot in fish: asks ctx-snapshot itself.

complete --keep-order --exclusive --command ctx-snapshot --arguments "(CTX_COMPLETE=fish ctx-snapshot -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
