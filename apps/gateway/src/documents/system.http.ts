import { DEFAULT_KUBERNETES_VERSION, KUBERNETES_RELEASES, VersionView } from '@fairlead/contracts';
import { Controller, Get, Header } from '@nestjs/common';
import { Authenticated, Public } from '../auth/access.js';
import { bothBases, Documented, LADYBUG } from '../http/documented.js';
import { FAIRLEAD_VERSION } from '../version.js';

@Controller(bothBases('version'))
export class VersionHttp {
  @Get()
  @Authenticated()
  @Documented({
    id: 'getVersion',
    tag: 'system',
    summary: 'The version of Fairlead, and the Kubernetes versions that it can build',
    answers: [{ status: 200, description: 'Versions', schema: VersionView }],
  })
  version(): VersionView {
    return {
      kind: 'Version',
      fairlead: FAIRLEAD_VERSION,
      kubernetes: { default: DEFAULT_KUBERNETES_VERSION, known: KUBERNETES_RELEASES.map(({ version }) => version) },
    };
  }
}

/** What CB-Ladybug's clients ask before anything else. */
@Controller(LADYBUG)
export class LadybugHealthHttp {
  @Get('healthy')
  @Public()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  healthy(): string {
    return 'cb-barista cb-ladybug';
  }
}
