import { join } from 'node:path';
import {
  Apt,
  BUSYBOX_PACKAGE,
  membersOf,
  NETWORK_TOOLS,
  programsOf,
  type Distribution,
  type Package,
  type ProgramSet,
} from './debian.js';
import type { Layer } from './image.js';
import { Refusal } from './refusal.js';

/** The programs that images take from the packages of a distribution, each downloaded once per build. */
export class DebianPrograms {
  private readonly apts = new Map<string, Promise<Apt>>();
  private readonly networkTools = new Map<string, Promise<Layer>>();

  constructor(private readonly places: { readonly work: string; readonly signal: AbortSignal }) {}

  /** The package index of a distribution is read once for all downloads. */
  async packages(
    distribution: Distribution,
    names: readonly string[],
    onNote: (note: string) => void = () => undefined,
  ): Promise<readonly Package[]> {
    const { work, signal } = this.places;
    const apt = remembered(this.apts, distribution.name, () =>
      Apt.open(join(work, 'apt', distribution.name), distribution, signal),
    );
    return (await apt).fetch(names, onNote);
  }

  async layerOf(
    distribution: Distribution,
    { packages, programs }: ProgramSet,
    onNote?: (note: string) => void,
  ): Promise<Layer> {
    return programsOf(await this.packages(distribution, packages, onNote), programs);
  }

  /** The programs that kube-proxy and flannel call. */
  network(distribution: Distribution): Promise<Layer> {
    return remembered(this.networkTools, distribution.name, () => this.layerOf(distribution, NETWORK_TOOLS));
  }

  async busybox(distribution: Distribution): Promise<Buffer> {
    for (const { name, file } of await this.packages(distribution, [BUSYBOX_PACKAGE])) {
      if (name !== BUSYBOX_PACKAGE) continue;
      for await (const { content } of membersOf(file, ({ path }) => path.endsWith('bin/busybox'))) {
        if (content instanceof Buffer) return content;
      }
    }
    throw new Refusal(`${BUSYBOX_PACKAGE} of ${distribution.name} has no busybox`);
  }
}

const remembered = <T>(known: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> => {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
};
