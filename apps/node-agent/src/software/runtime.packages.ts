import { compareVersions, type SoftwareVersions } from '@fairlead/contracts';
import type { Distribution, PackageDriver } from './package.driver.js';

const RUNTIME = 'containerd';
/** The first version with CRI v1, which kubelets from 1.26 on require (kubernetes.io, CRI version support). */
const RUNTIME_OLDEST = '1.6.0';

const isUsable = (version: string): boolean => compareVersions(version, RUNTIME_OLDEST) >= 0;

/**
 * The container runtime from the distribution: the desired version if the distribution offers it, otherwise the
 * available one if a kubelet supports it. Debian 12 has no 1.7.
 */
export const distributionRuntime = (distribution: Distribution): PackageDriver => {
  const accepts = async (name: string, desired: string, found: string): Promise<boolean> =>
    name === RUNTIME && isUsable(found) && !(await distribution.offers(name, desired));

  /** The desired packages, with the distribution's own version of the runtime if it does not offer the desired one. */
  const attainable = async (packages: SoftwareVersions): Promise<SoftwareVersions> => {
    const desired = packages[RUNTIME];
    if (desired === undefined || (await distribution.offers(RUNTIME, desired))) return packages;
    if (!(await distribution.installed([RUNTIME])).has(RUNTIME)) await distribution.require([RUNTIME]);
    const found = (await distribution.installed([RUNTIME])).get(RUNTIME)?.version ?? desired;
    return (await accepts(RUNTIME, desired, found)) ? { ...packages, [RUNTIME]: found } : packages;
  };

  return {
    installed: (names) => distribution.installed(names),
    install: async (packages) => distribution.install(await attainable(packages)),
    stage: (packages) => distribution.stage(packages),
    program: (name, version) => distribution.program(name, version),
    accepts,
  };
};
