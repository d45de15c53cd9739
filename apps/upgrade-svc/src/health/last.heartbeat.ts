import { Heartbeat } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';

/** Longer ones are dropped: a heartbeat has some hundred bytes. */
const BYTES_MAX = 16 * 1024;
/** The buffer is slightly larger than the heartbeat, for a longer one. */
const BYTES_STEP = 128;

/** In JSON format; inside a string, its quotes would be escaped. */
const WORD = Buffer.from('"kubernetesReady":');
const [TRUE, FALSE] = [Buffer.from('true'), Buffer.from('false')];

/** The state of the Node object, as seen by the agent. */
export type SeenNode = 'ready' | 'not-ready' | 'absent';

/** The contents of a node's last heartbeat besides its liveness. */
export interface ReadHeartbeat {
  readonly heartbeat: Heartbeat;
  /** The offset of the node's clock; positive: the node is ahead. Seems negative if the heartbeat was read late. */
  readonly skewMs: number;
}

/**
 * The last heartbeat of a node, unparsed: thousands arrive per second, and hardly any is read. Stored as a copy in a
 * buffer that is reused, because the bytes of a message are a slice of the socket's buffer. The buffer is not a slice
 * either: from the pool of Node.js, one heartbeat would retain eight kilobytes.
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

  /** Found without parsing, because it is evaluated for each heartbeat. */
  get node(): SeenNode {
    const at = this.bytes.indexOf(WORD);
    const word = at < 0 ? this.bytes.subarray(0, 0) : this.bytes.subarray(at + WORD.length, this.length);
    if (word.subarray(0, TRUE.length).equals(TRUE)) return 'ready';
    return word.subarray(0, FALSE.length).equals(FALSE) ? 'not-ready' : 'absent';
  }

  /** Parses it; undefined: it is invalid. `receivedAtMs`: when it arrived. */
  read(receivedAtMs: number): ReadHeartbeat | undefined {
    const heartbeat = parsed(this.bytes.toString('utf8', 0, this.length));
    if (heartbeat === undefined) return undefined;
    return { heartbeat, skewMs: Math.round(Date.parse(heartbeat.at) - receivedAtMs) };
  }
}

const parsed = (text: string): Heartbeat | undefined =>
  Heartbeat.safeParse(parseJsonOrUndefined(text, { lengthMax: BYTES_MAX })).data;
