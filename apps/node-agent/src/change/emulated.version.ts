import type { HostPort } from '../node/host.ports.js';

/** kubeadm patches what it writes with the files of this folder, named after their targets; each call of it names the folder again. */
export const PATCHES_FOLDER = '/etc/kubernetes/fairlead-patches';

/** The components with --emulated-version (KEP-4330). */
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const PRIVATE = 0o600;

/** A JSON patch (RFC 6902) of the pod that kubeadm makes of its configuration, which stays as it is: the next call without it writes the flag no more. */
const patchOf = (version: string): string =>
  JSON.stringify([{ op: 'add', path: '/spec/containers/0/command/-', value: `--emulated-version=${version}` }]);

/** New binaries must behave as the version before them for now (rule G5). */
export const writeEmulationPatches = async (host: HostPort, version: string): Promise<void> => {
  for (const component of COMPONENTS)
    await host.writeFile(`${PATCHES_FOLDER}/${component}+json.json`, patchOf(version), PRIVATE);
};
