# Completion of ctx-compact in fish: asks ctx-compact itself.

complete --keep-order --exclusive --command ctx-compact --arguments "(CTX_COMPLETE=fish ctx-compact -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
