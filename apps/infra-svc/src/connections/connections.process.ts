import { job, type Process } from '@fairlead/event-sourcing';

/** Whatever is registered is verified, so that people see what it offers before they build on it. */
export const connectionsProcess: Process<null> = {
  name: 'connections',
  version: 1,
  initial: null,
  evolve: (state) => state,
  react: (_state, event) =>
    event.type === 'ConnectionRegistered' || event.type === 'ConnectionVerificationRequested'
      ? [job('VerifyConnection', { connection: event.data.name })]
      : [],
};
