import { Heartbeat } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';

/** What is longer is not kept: a heartbeat has some hundred bytes. */
const BYTES_MAX = 16 * 1024;
/** The memory for one heartbeat has room for one that is somewhat longer. */
const BYTES_STEP = 128;

/** As JSON has it; inside of a string its quotes would be escaped. */
const WORD = Buffer.from('"kubernetesReady":');
const [TRUE, FALSE] = [Buffer.from('true'), Buffer.from('false')];

/** How an agent sees the Node object of its node. */
export type SeenNode = 'ready' | 'not-ready' | 'absent';

/** What the last heartbeat of a node says beside that it lives. */
export interface ReadHeartbeat {
  readonly heartbeat: Heartbeat;
  /** Of the node's clock against ours; positive: the node is ahead. It seems behind where we read the heartbeat late. */
  readonly skewMs: number;
}

/**
 * The last heartbeat of a node, as it came: thousands come each second, and hardly one is ever read. What is kept is a copy, in memory that
 * the next one takes over, because the bytes of a message are a piece of what the socket has read. It is no piece of anything larger: of Node's
 * pool, one heartbeat would keep eight kilobytes.
 */
export class LastHeartbeat {
  private bytes = Buffer.alloc(0);
  private length = 0;

  keep(data: Uint8Array): void {
    if (data.length > BYTES_MAX) return;
    if (this.bytes.length < data.length)
      this.bytes = Buffer.allocUnsafeSlow(Math.ceil(data.length / BYTES_STEP) * BYTES_STEP);
    this.bytes.set(data);
    this.length = data.length;
  }

  /** Found without parsing, for each heartbeat is asked. */
  get node(): SeenNode {
    const at = this.bytes.indexOf(WORD);
    const word = at < 0 ? this.bytes.subarray(0, 0) : this.bytes.subarray(at + WORD.length, this.length);
    if (word.subarray(0, TRUE.length).equals(TRUE)) return 'ready';
    return word.subarray(0, FALSE.length).equals(FALSE) ? 'not-ready' : 'absent';
  }

  /** It was received then; undefined: it is none. */
  read(receivedAtMs: number): ReadHeartbeat | undefined {
    const heartbeat = parsed(this.bytes.toString('utf8', 0, this.length));
    if (heartbeat === undefined) return undefined;
    return { heartbeat, skewMs: Math.round(Date.parse(heartbeat.at) - receivedAtMs) };
  }
}

const parsed = (text: string): Heartbeat | undefined =>
  Heartbeat.safeParse(parseJsonOrUndefined(text, { lengthMax: BYTES_MAX })).data;
