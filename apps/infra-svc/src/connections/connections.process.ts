import { job, type Process } from '@fairlead/event-sourcing';

/** Whatever is registered is verified, so that people see what it offers before they build on it. */
export const connectionsProcess: Process<null> = {
  name: 'connections',
  version: 1,
  initial: null,
  evolve: (state) => state,
  react: (_state, event) => {
    switch (event.type) {
      case 'ConnectionRegistered':
      case 'ConnectionVerificationRequested':
      case 'HostKeyAccepted':
        return [job('VerifyConnection', { connection: event.data.name })];
      case 'HostAccepted': {
        const { name, host } = event.data;
        return [job('AcceptHost', { connection: name, host, asOf: event.meta.seq })];
      }
      case 'OrphanVmRemovalRequested': {
        const { name, id } = event.data;
        return [job('DeleteOrphan', { connection: name, id })];
      }
      default:
        return [];
    }
  },
};
