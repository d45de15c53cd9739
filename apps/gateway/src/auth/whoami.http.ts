import { WhoamiView } from '@fairlead/contracts';
import { Controller, Get } from '@nestjs/common';
import { Authenticated } from '../access/access.js';
import type { Identity } from '../access/identity.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';

/** `user/<name>#<id>` */
const nameOf = ({ actor }: Identity): string => actor.replace(/^user\//, '').replace(/#[^#]*$/, '');

export const whoamiView = (identity: Identity): WhoamiView => {
  const { tokenId, actor, roles, expiresAt, isUser } = identity;
  return {
    kind: 'Whoami',
    name: nameOf(identity),
    tokenId,
    actor,
    roles: roles.map(({ namespace, role }) => ({ namespace, role })),
    ...(isUser === undefined ? {} : { signedIn: isUser }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
  };
};

@Controller(bothBases('whoami'))
export class WhoamiHttp {
  @Get()
  @Authenticated()
  @Documented({
    id: 'getWhoami',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Who sends the request: the name, the roles and the expiry of its token',
    answers: [{ status: 200, description: 'The caller', schema: WhoamiView }],
  })
  whoami(@FromCaller() { identity }: Caller): WhoamiView {
    return whoamiView(identity);
  }
}
