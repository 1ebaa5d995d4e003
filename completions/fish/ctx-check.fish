# Completion of ctx-check in fish: asks ctx-check itself.

complete --keep-order --exclusive --command ctx-check --arguments "(CTX_COMPLETE=fish ctx-check -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
