import type { LogPosition, LogUnit } from '@fairlead/contracts';
import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface NodeLogInput {
  readonly unit: LogUnit;
  /** null: start with the last lines. */
  readonly after: LogPosition | null;
  /** Without `after`: this many, and only those logged within this time; null: of any age. */
  readonly lines: number;
  readonly sinceSeconds: number | null;
  /** Maximum bytes sent. */
  readonly bytes: number;
  /** How long it waits for the first new line. */
  readonly waitSeconds: number;
}

export interface NodeLogResult {
  /** Base64. */
  readonly text: string;
  /** Number of lines after those that are sent. */
  readonly skipped: number;
  readonly position: LogPosition;
}

/** In addition to the waiting time. */
const READING_SECONDS = 30;

/** journalctl's arguments after its fixed options, as shell words. */
const asked = ({ after, lines, sinceSeconds }: NodeLogInput): string => {
  if (after === null) return sinceSeconds === null ? `--lines ${lines}` : `--since -${sinceSeconds}s`;
  return after.cursor === null ? `--since @${after.time}` : `--after-cursor ${quote(after.cursor)}`;
};

/**
 * Reads a unit's log after a position, and waits for the first line. The oldest lines are sent, so that omitted ones
 * form one gap at the end. With --since, some versions of journalctl apply --lines to the first lines and others to the
 * last.
 */
export const nodeLogScript = (input: NodeLogInput): HostScript => {
  const { unit, after, lines, bytes, waitSeconds } = input;
  const known = after?.cursor ?? '';
  const newest = after === null ? `| tail -n ${lines + 1} ` : '';
  return script(
    { step: 'node-log', limitSeconds: waitSeconds + READING_SECONDS, lockSeconds: null },
    `
work=$(mktemp -d "$root/run/fairlead/node-log.XXXXXX")
trap 'rm -rf "$work"; clean_up' EXIT
export LC_ALL=C
now=$(date +%s)
# Lines of entries never begin with "-- cursor: ": what follows the first line of a message is indented.
pick='/^-- cursor: / { cursor = substr($0, 12); next }
{ bytes += length($0) + 1; if (skipped > 0 || bytes > ${bytes}) skipped++; else print }
END { printf "%d %s\\n", skipped, cursor >counts }'
entries() {
  journalctl --no-pager --quiet --output short-iso --unit ${quote(unit)} --show-cursor ${asked(input)} 2>"$work/said" || touch "$work/failed"
}
waited=0
while :; do
  entries ${newest}| awk -v counts="$work/counts" "$pick" >"$work/text"
  [ ! -e "$work/failed" ] || fail "journalctl failed: $(tail -n 5 "$work/said")"
  if [ -s "$work/text" ] || [ "$waited" -ge ${after === null ? 0 : waitSeconds} ]; then break; fi
  sleep 1
  waited=$((waited + 1))
done
read -r skipped cursor <"$work/counts"
[ -n "$cursor" ] || cursor=${quote(known)}
if [ -n "$cursor" ]; then position=$(json_text "$cursor"); else position=null; fi
result "{\\"text\\":\\"$(base64 <"$work/text" | tr -d '\\n')\\",\\"skipped\\":$skipped,\\"position\\":{\\"cursor\\":$position,\\"time\\":$now}}"
`,
  );
};
