import { parseArgs } from 'node:util';
import {
  DEFAULT_KUBERNETES_VERSION,
  KUBERNETES_RELEASES,
  releaseOf,
  versionRanges,
  wordsOf,
  type KubernetesRelease,
} from '@fairlead/contracts';
import { DISTRIBUTIONS, type Distribution } from './debian.js';
import { Refusal } from './refusal.js';

export interface Options {
  readonly releases: readonly KubernetesRelease[];
  /** Default: the folder of the cache. */
  readonly out: string | undefined;
  readonly distributions: readonly Distribution[] | undefined;
  readonly conformance: boolean;
  readonly help: boolean;
}

export const HELP = `Makes a mirror of Kubernetes from Go modules, for machines that reach no download site.

  npm run kubernetes:build -- [options] [version ...]

  version             ${versionRanges(KUBERNETES_RELEASES.map(({ version }) => version))};
                      absent: ${DEFAULT_KUBERNETES_VERSION}
  --out <folder>      where the mirror shall be; else $FAIRLEAD_CACHE, $XDG_CACHE_HOME/fairlead or
                      ~/.cache/fairlead, and there "kubernetes"
  --packages <names>  hosts' distributions whose packages shall be in it, or "none"; known are
                      ${DISTRIBUTIONS.map(({ name }) => name).join(', ')}; absent: debian-13, on Ubuntu its own
  --conformance       also Kubernetes' own e2e tests of these versions, and the program that their pods run
  -h, --help          this text

It needs Go, and the apt-get of a Debian or Ubuntu. A version takes about five minutes on two cores and 1 GiB, and Go's own
caches about 5 GiB. What is done is not done again; a build that was stopped goes on where it was.
`;

/** Throws Refusal for unknown options. */
export const parseOptions = (args: readonly string[]): Options => {
  const { values, positionals } = parse(args);
  const versions = positionals.length === 0 ? [DEFAULT_KUBERNETES_VERSION] : positionals;
  return {
    releases: versions.map(releaseNamed),
    out: values.out,
    distributions: values.packages === undefined ? undefined : distributionsNamed(values.packages),
    conformance: values.conformance === true,
    help: values.help === true,
  };
};

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        packages: { type: 'string' },
        conformance: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new Refusal(`${wordsOf(error)} (--help says what there is)`);
  }
};

const releaseNamed = (text: string): KubernetesRelease => {
  const version = text.startsWith('v') ? text : `v${text}`;
  const release = releaseOf(version);
  if (release !== undefined) return release;
  throw new Refusal(
    `${version} is not in the catalogue, which has ${versionRanges(KUBERNETES_RELEASES.map((each) => each.version))}. Another version is another row in libs/contracts/src/software.ts.`,
  );
};

const distributionsNamed = (text: string): readonly Distribution[] =>
  text === 'none' ? [] : text.split(',').map(distributionNamed);

export const distributionNamed = (name: string): Distribution => {
  const found = DISTRIBUTIONS.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new Refusal(`Packages of ${name} are not known, only of ${DISTRIBUTIONS.map((each) => each.name).join(', ')}.`);
};
