# Fish completion for ctx-rollback, which computes the values itself.

complete --keep-order --exclusive --command ctx-rollback --arguments "(CTX_COMPLETE=fish ctx-rollback -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
