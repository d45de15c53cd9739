import { describeProvider } from '../src/adapters/provider.features.js';
import { FakeCloud, FakeProvider } from './fake.provider.js';

describeProvider('in memory, which the simulation runs on', async () => {
  const cloud = new FakeCloud();
  return {
    open: () => new FakeProvider(cloud),
    connection: 'lab',
    region: 'lab-1',
    spec: 'lab.medium',
    publicKey: 'ssh-ed25519 AAAA spec',
    adopts: true,
    stop: async () => undefined,
  };
});
