# Completion of ctx-split in fish: asks ctx-split itself.

complete --keep-order --exclusive --command ctx-split --arguments "(CTX_COMPLETE=fish ctx-split -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
