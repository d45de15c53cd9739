import { z } from 'zod';

/** What the outside world did wrong: which operation, on what, in its own words. Safe to show and to store. */
export const Cause = z.strictObject({
  operation: z.string().describe('What was tried, e.g. "kubeadm init"'),
  target: z.string().describe('On what, e.g. a node or a connection'),
  message: z.string().max(4_000).describe("The outside world's own words"),
});
export type Cause = z.infer<typeof Cause>;

const MESSAGE_LENGTH_MAX = 4_000;

/** A failure of the outside world (a provider, SSH, a command, the Kubernetes API). Never a bug of ours, never a refusal. */
export class WorldFailure extends Error {
  readonly operation: string;
  readonly target: string;
  /** False when trying again cannot help (quota, unknown image): the last attempt is then this one. */
  readonly retryable: boolean;

  constructor(at: { operation: string; target: string; message: string; retryable?: boolean; cause?: unknown }) {
    super(at.message.slice(-MESSAGE_LENGTH_MAX), at.cause === undefined ? undefined : { cause: at.cause });
    this.name = 'WorldFailure';
    this.operation = at.operation;
    this.target = at.target;
    this.retryable = at.retryable ?? true;
  }

  toCause(): Cause {
    return { operation: this.operation, target: this.target, message: this.message };
  }
}

/** One sentence for a person: "kubeadm init on demo-cp-1 failed: <words>". */
export const sentenceOf = (cause: Cause): string => `${cause.operation} on ${cause.target} failed: ${cause.message}`;

/** What somebody threw, in its own words. */
export const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
