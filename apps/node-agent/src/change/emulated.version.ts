import type { HostPort } from '../node/host.ports.js';

/**
 * kubeadm patches its manifests with the files of this folder, named by target; each call must pass the folder again.
 */
export const PATCHES_FOLDER = '/etc/kubernetes/fairlead-patches';

/** The components with --emulated-version (KEP-4330). */
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const PRIVATE = 0o600;

/**
 * A JSON patch (RFC 6902) of the generated static pod. The configuration is unchanged, so the next call without the
 * patch omits the flag.
 */
const patchOf = (version: string): string =>
  JSON.stringify([{ op: 'add', path: '/spec/containers/0/command/-', value: `--emulated-version=${version}` }]);

/** Makes new binaries emulate the previous version for now (rule G5). */
export const writeEmulationPatches = async (host: HostPort, version: string): Promise<void> => {
  for (const component of COMPONENTS)
    await host.writeFile(`${PATCHES_FOLDER}/${component}+json.json`, patchOf(version), PRIVATE);
};
