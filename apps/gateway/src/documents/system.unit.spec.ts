import { CNIS, VersionView } from '@fairlead/contracts';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { InstallationReleases } from '@fairlead/service-kit';
import { expect, it } from '@jest/globals';
import { VersionHttp } from './system.http.js';

it('the version says of every network whether its data plane was ever run: only that of flannel from a mirror was', async () => {
  const releases = new InstallationReleases(new MemoryStore());
  const { networks } = VersionView.parse(await new VersionHttp(releases).version());
  expect(networks.filter(({ images }) => images === 'registry').map(({ cni }) => cni)).toEqual(CNIS);
  expect(networks.filter(({ verifiedOn }) => verifiedOn === 'real')).toEqual([
    { cni: 'flannel', version: 'v0.28.4', images: 'mirror', verifiedOn: 'real' },
  ]);
});
