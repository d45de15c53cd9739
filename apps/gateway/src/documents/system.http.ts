import {
  CNIS,
  DEFAULT_KUBERNETES_VERSION,
  NETWORK_RELEASES,
  PRELOADED_NETWORK_RELEASES,
  VersionView,
  type Cni,
  type NetworkRelease,
} from '@fairlead/contracts';
import { offeredReleases } from '@fairlead/domain';
import { InstallationReleases } from '@fairlead/service-kit';
import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Authenticated, Public } from '../access/access.js';
import { bothBases, Documented, LADYBUG } from '../http/documented.js';
import { FAIRLEAD_VERSION } from '../version.js';

type Networks = VersionView['networks'];

const networksOf = (
  images: Networks[number]['images'],
  releases: Readonly<Partial<Record<Cni, NetworkRelease>>>,
): Networks =>
  CNIS.flatMap((cni) => {
    const release = releases[cni];
    return release === undefined ? [] : [{ cni, images, ...release }];
  });

@Controller(bothBases('version'))
export class VersionHttp {
  constructor(@Inject(InstallationReleases) private readonly releases: InstallationReleases) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'getVersion',
    tag: 'system',
    records: 'nothing',
    summary: 'The version of Fairlead, and the Kubernetes versions and pod networks that it can build',
    answers: [{ status: 200, description: 'Versions', schema: VersionView }],
  })
  async version(): Promise<VersionView> {
    const known = offeredReleases(await this.releases.latest());
    return {
      kind: 'Version',
      fairlead: FAIRLEAD_VERSION,
      networks: [...networksOf('registry', NETWORK_RELEASES), ...networksOf('mirror', PRELOADED_NETWORK_RELEASES)],
      kubernetes: { default: DEFAULT_KUBERNETES_VERSION, known: known.map(({ version }) => version) },
    };
  }
}

/** What CB-Ladybug's clients ask before anything else. */
@ApiExcludeController()
@Controller(['', LADYBUG])
export class LadybugHealthHttp {
  @Get('healthy')
  @Public()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  healthy(): string {
    return 'cb-barista cb-ladybug';
  }
}
