/** A message of the log, as the gateway hands it out or a file of it has it. */
export interface LoggedMessage {
  readonly seq: number;
  readonly context: string;
  readonly sha256: string;
  readonly prevHash: string;
  /** null: only its hash is known here. */
  readonly message: string | null;
}

export interface ChainFault {
  readonly seq: number;
  readonly context: string;
  readonly fault: string;
}

export interface Verdict {
  readonly messages: number;
  /** Of which the bytes were hashed here. */
  readonly hashed: number;
  readonly chains: number;
  readonly faults: readonly ChainFault[];
  /** The end of each chain: whoever has noted one earlier can compare it. */
  readonly ends: readonly { readonly context: string; readonly seq: number; readonly sha256: string }[];
}

export type Sha256 = (text: string) => Promise<string>;

const PREV_HASH = /"prevhash":"([0-9a-f]{64})"/;
const STREAM_VERSION = /"streamversion":(\d+)/;

/** What a message itself says of the one before it: its own bytes count, and not what the gateway repeats of them. */
const claimIn = ({ message, prevHash }: LoggedMessage): string =>
  message === null ? prevHash : (PREV_HASH.exec(message)?.[1] ?? '');

const versionIn = ({ message }: LoggedMessage): number | undefined => {
  const [, text] = message === null ? [] : (STREAM_VERSION.exec(message) ?? []);
  return text === undefined ? undefined : Number(text);
};

interface Link {
  readonly seq: number;
  readonly sha256: string;
  readonly version: number | undefined;
}

/**
 * Recomputes the hash chain of each context. `isComplete`: the messages begin with the first of each chain. What a message without bytes
 * says is taken as the gateway says it, and is counted apart.
 */
export const verifyChains = async (
  messages: readonly LoggedMessage[],
  sha256: Sha256,
  { isComplete, onProgress }: { readonly isComplete: boolean; readonly onProgress?: (done: number) => void },
): Promise<Verdict> => {
  const links = new Map<string, Link>();
  const faults: ChainFault[] = [];
  let hashed = 0;
  let lastSeq = 0;
  for (const [index, one] of messages.entries()) {
    const { seq, context, message } = one;
    const report = (fault: string): void => void faults.push({ seq, context, fault });
    const computed = message === null ? one.sha256 : await sha256(message);
    if (message !== null) hashed += 1;
    if (computed !== one.sha256)
      report('has other bytes than the gateway hashed: it was changed on the way, or in this file');
    if (seq <= lastSeq) report('is not in the order of the log');
    lastSeq = Math.max(lastSeq, seq);
    const before = links.get(context);
    const claim = claimIn(one);
    const version = versionIn(one);
    if (claim === '') report('is not an event of the log: it names no event before it');
    else if (before !== undefined && claim !== before.sha256)
      report(`does not follow from event ${before.seq}: that one was changed, or one is missing between them`);
    else if (before === undefined && isComplete && !/^0+$/.test(claim))
      report('is the first of its chain here, and names one before it: that one is missing');
    if (before?.version !== undefined && version !== undefined && version !== before.version + 1)
      report(`is number ${version} of its chain, not ${before.version + 1}`);
    links.set(context, { seq, sha256: computed, version });
    onProgress?.(index + 1);
  }
  const ends = [...links].map(([context, { seq, sha256: hash }]) => ({ context, seq, sha256: hash }));
  return { messages: messages.length, hashed, chains: links.size, faults, ends };
};

/** Computed by this browser. */
export const webCryptoSha256: Sha256 = async (text) => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
};
