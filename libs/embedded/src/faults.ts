import { WorldFailure } from '@fairlead/contracts';

/** Why an environment could not be provided. The code is stable; the message includes what to do. */
export type FaultCode =
  | 'command-failed'
  | 'crash-loop'
  | 'database-refused'
  | 'disk-full'
  | 'folder-foreign'
  | 'folder-in-use'
  | 'folder-newer'
  | 'folder-unusable'
  | 'nats-missing'
  | 'nats-refused'
  | 'nats-too-old'
  | 'not-ready'
  | 'port-taken'
  | 'postgres-missing';

/** The machine does not give what an embedded environment needs. Trying again without a change cannot help. */
export class EnvironmentFault extends WorldFailure {
  readonly code: FaultCode;

  constructor(code: FaultCode, at: { operation: string; target: string; message: string; cause?: unknown }) {
    super({ ...at, retryable: false });
    this.name = 'EnvironmentFault';
    this.code = code;
  }
}

/** The words of whatever was thrown, for a sentence. */
export const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The system's error code (`ENOENT`, `EACCES`) or PostgreSQL's (`28P01`), if there is one. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
