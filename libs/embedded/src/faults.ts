import { ExternalFailure } from '@fairlead/contracts';

/** Why an environment could not be provided. The code is stable; the message includes a remedy. */
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

/** The machine lacks something that an embedded environment needs. A retry without a change cannot help. */
export class EnvironmentFault extends ExternalFailure {
  readonly code: FaultCode;

  constructor(code: FaultCode, at: { operation: string; target: string; message: string; cause?: unknown }) {
    super({ ...at, retryable: false });
    this.name = 'EnvironmentFault';
    this.code = code;
  }
}
