export { NatsSnapshots } from './snapshots/nats.snapshots.js';
export {
  snapshotKeyRef,
  type KeptSnapshot,
  type SnapshotStore,
  type SnapshotWriter,
} from './snapshots/snapshots.ports.js';
