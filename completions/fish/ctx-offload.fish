# Completion of ctx-offload in fish: asks ctx-offload itself.

complete --keep-order --exclusive --command ctx-offload --arguments "(CTX_COMPLETE=fish ctx-offload -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
