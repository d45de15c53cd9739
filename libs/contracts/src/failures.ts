import * as z from 'zod';

/** A failure of the outside world: the operation, its target and the error message. Safe to show and to store. */
export const Cause = z.strictObject({
  operation: z.string().describe('What was tried, e.g. "kubeadm init"'),
  target: z.string().describe('On what, e.g. a node or a connection'),
  message: z.string().max(4_000).describe("The outside world's own words"),
  reason: z.string().max(100).optional().describe('A stable code, where the failure has one: ssh.host-key-changed'),
});
export type Cause = z.infer<typeof Cause>;

/** The server's SSH host key differs from the known one. The operation ends at once: a retry cannot help. */
export const HOST_KEY_CHANGED = 'ssh.host-key-changed';

/** The provider rejected the request permanently. A retry cannot help. */
export const PROVIDER_REFUSED = 'provider.refused';

const MESSAGE_LENGTH_MAX = 4_000;

/** A failure outside Fairlead (a provider, SSH, a command, the Kubernetes API). Never a bug, never a refusal. */
export class ExternalFailure extends Error {
  readonly operation: string;
  readonly target: string;
  /** False if a retry cannot help (quota, unknown image): this attempt is then the last. */
  readonly retryable: boolean;
  readonly reason: string | undefined;

  constructor(at: {
    operation: string;
    target: string;
    message: string;
    retryable?: boolean;
    reason?: string | undefined;
    cause?: unknown;
  }) {
    super(at.message.slice(-MESSAGE_LENGTH_MAX), at.cause === undefined ? undefined : { cause: at.cause });
    this.name = 'ExternalFailure';
    this.operation = at.operation;
    this.target = at.target;
    this.retryable = at.retryable ?? true;
    this.reason = at.reason;
  }

  toCause(): Cause {
    const { operation, target, message, reason } = this;
    return { operation, target, message, ...(reason === undefined ? {} : { reason }) };
  }
}

/** One sentence for a person: "kubeadm init on demo-cp-1 failed: <message>". */
export const sentenceOf = (cause: Cause): string => `${cause.operation} on ${cause.target} failed: ${cause.message}`;

/** The code of an error of Node.js (`ENOENT`, `EACCES`) or PostgreSQL (`28P01`), if there is one. */
export const errorCodeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

/** The message of anything that was thrown. */
export const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
