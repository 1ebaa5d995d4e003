# Fish completion for ctx-offload, which computes the values itself.

complete --keep-order --exclusive --command ctx-offload --arguments "(CTX_COMPLETE=fish ctx-offload -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
