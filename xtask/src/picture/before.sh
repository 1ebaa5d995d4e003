put() {
    mkdir -p "$(dirname "$2")"
    ctx-convert -q --to "$1" --cwd "$4" -s "$6" "$3" -o "$2"
    touch -d "$5" "$2"
}
head -n 59 session.jsonl > begun.jsonl
(head -n 1 session.jsonl && sed -n 124,156p session.jsonl) > zones.jsonl
put claude-code ~/.claude/projects/-work-berthbook/day.jsonl session.jsonl /work/berthbook '25 minutes ago' 7f3a9c1e-2222-4333-8444-555555555555
put codex ~/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-019a2b7d-2222-4333-8444-555555555555.jsonl begun.jsonl /work/berthbook '3 hours ago' 019a2b7d-2222-4333-8444-555555555555
put pi ~/.pi/agent/sessions/--work-kiosk--/kiosk.jsonl zones.jsonl /work/kiosk '2 days ago' c5e81f04-2222-4333-8444-555555555555
