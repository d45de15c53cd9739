import type { SoftwareVersions } from '@fairlead/contracts';
import type { Distribution, PackageDriver } from './package.driver.js';
import { compareVersions } from './versions.js';

const RUNTIME = 'containerd';
/** The first with the CRI v1 that kubelets from 1.26 on ask for (kubernetes.io, CRI version support). */
const RUNTIME_OLDEST = '1.6.0';

const isUsable = (version: string): boolean => compareVersions(version, RUNTIME_OLDEST) >= 0;

/**
 * The container runtime where it comes from the distribution and not from us: the wanted version where the distribution
 * offers it, else the one that it has, if a kubelet can use that. Debian 12 has no 1.7.
 */
export const distributionRuntime = (distribution: Distribution): PackageDriver => {
  const accepts = async (name: string, wanted: string, found: string): Promise<boolean> =>
    name === RUNTIME && isUsable(found) && !(await distribution.offers(name, wanted));

  /** The packages as they can be had, once the distribution's own runtime is there where the wanted one cannot be. */
  const attainable = async (packages: SoftwareVersions): Promise<SoftwareVersions> => {
    const wanted = packages[RUNTIME];
    if (wanted === undefined || (await distribution.offers(RUNTIME, wanted))) return packages;
    if (!(await distribution.installed([RUNTIME])).has(RUNTIME)) await distribution.require([RUNTIME]);
    const found = (await distribution.installed([RUNTIME])).get(RUNTIME)?.version ?? wanted;
    return (await accepts(RUNTIME, wanted, found)) ? { ...packages, [RUNTIME]: found } : packages;
  };

  return {
    installed: (names) => distribution.installed(names),
    install: async (packages) => distribution.install(await attainable(packages)),
    stage: (packages) => distribution.stage(packages),
    accepts,
  };
};
