import type { ConnectionName } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';
import { connectionGroup } from './connection.group.js';

const aboutIt = (connection: ConnectionName) => ({ connection, groups: [connectionGroup(connection)] });

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
        return [job('VerifyConnection', aboutIt(event.data.name))];
      case 'HostAccepted': {
        const { name, host } = event.data;
        return [job('AcceptHost', { ...aboutIt(name), host, asOf: event.meta.seq })];
      }
      case 'OrphanVmRemovalRequested': {
        const { name, id } = event.data;
        return [job('DeleteOrphan', { ...aboutIt(name), id })];
      }
      default:
        return [];
    }
  },
};
