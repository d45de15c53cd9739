import type { FairleadClient, Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api, Steering } from './api.ports.js';
import { allItemsOf, at, dataOf, itemsOf, type Answered } from './client.requests.js';

/** Shorter than the time that an answer may take. */
const PLAN_WAIT_SECONDS = 50;

type UpgradeMethods =
  'upgrades' | 'upgrade' | 'requestUpgrade' | 'steerUpgrade' | 'setPoolUpdates' | 'setNodeUpdates' | 'certificates';

export const upgradeMethods = (access: Access, client: FairleadClient): Pick<Api, UpgradeMethods> => ({
  upgrades: (address) =>
    allItemsOf(access, (query) =>
      client.GET('/ns/{namespace}/clusters/{cluster}/upgrades', { params: { path: { ...address }, query } }),
    ),
  upgrade: (address, upgrade, minSeq = 0) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', {
        params: { path: { ...address, upgrade }, query: { minSeq } },
      }),
    ),
  requestUpgrade: (address, request, { dryRun, idempotencyKey }) =>
    dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/upgrades', {
        params: {
          path: { ...address },
          query: { dryRun: dryRun ? 'true' : 'false' },
          header: { 'Idempotency-Key': idempotencyKey, Prefer: `wait=${PLAN_WAIT_SECONDS}` },
        },
        // The generated type wants what has a default, too; the server does not.
        body: request as Schemas['UpgradeRequest'],
      }),
    ),
  steerUpgrade: (address, upgrade, steering) =>
    dataOf(access, steered(client, { params: { path: { ...address, upgrade } } }, steering)),
  setPoolUpdates: (address, pool, body) =>
    dataOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/pools/{pool}/updates', {
        params: { path: { ...address, pool } },
        body,
      }),
    ),
  setNodeUpdates: (address, fields) => {
    const body = fields as Schemas['NodeUpdatesRequest'];
    return dataOf(access, client.PUT('/ns/{namespace}/clusters/{cluster}/nodes/updates', { ...at(address), body }));
  },
  certificates: (address) =>
    itemsOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/certificates', at(address))),
});

const steered = (
  client: FairleadClient,
  of: { readonly params: { readonly path: { namespace: string; cluster: string; upgrade: string } } },
  { action, ...body }: Steering,
): Promise<Answered<Schemas['Upgrade']>> => {
  const path = '/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}';
  switch (action) {
    case 'approve':
      return client.POST(`${path}/approve`, { ...of, body: body as Schemas['UpgradeApproval'] });
    case 'pause':
    case 'abort':
      return client.POST(`${path}/${action}`, { ...of, body: body as Schemas['UpgradeReason'] });
    case 'resume':
    case 'retry':
      return client.POST(`${path}/${action}`, of);
    case 'skip':
      return client.POST(`${path}/skip`, { ...of, body: body as Schemas['UpgradeSkip'] });
    case 'rollback':
      return client.POST(`${path}/rollback`, { ...of, body: body as Schemas['UpgradeRollback'] });
    case 'override':
      return client.POST(`${path}/override`, { ...of, body: body as Schemas['UpgradeOverride'] });
  }
};
