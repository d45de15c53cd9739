import {
  MANIFEST_API_VERSION,
  TEMPLATE_KIND,
  type ClusterList,
  type ClusterView,
  type ConnectionList,
  type NamespaceList,
  type OperationList,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway(async () => {
  await gateway.startReplica();
});

const ROUNDS = 60;
const clusters = '/ns/default/clusters';

/** What a read at the other replica, right after a command, says wrongly. */
const staleAfterRound = async (round: number): Promise<readonly string[]> => {
  const name = `own-${round}`;
  const [writer, reader] = [round % 2, (round + 1) % 2];
  const stale: string[] = [];
  const made = await gateway.ask('POST', clusters, { body: request(name), replica: writer });
  const location = made.headers.get('location') ?? '';
  const read = await gateway.ask<ClusterView>('GET', location, { replica: reader });
  if (read.status !== 200) stale.push(`${name}: ${read.status} after the create`);
  const list = await gateway.ask<ClusterList>('GET', clusters, { replica: reader });
  if (!list.body.items.some((item) => item.name === name)) stale.push(`${name}: not in the list`);
  const ended = await gateway.ask('DELETE', `${clusters}/${name}`, { replica: reader });
  const after = await gateway.ask<ClusterView>('GET', `${clusters}/${name}`, { replica: writer });
  if (after.body.status?.phase !== 'Deleting') stale.push(`${name}: ${after.body.status?.phase} after the delete`);
  const operation = await gateway.ask('GET', ended.headers.get('location') ?? '', { replica: writer });
  if (operation.status !== 200) stale.push(`${name}: the operation of the delete is ${operation.status}`);
  await gateway.state({ type: 'ClusterDeleted', data: { uid: after.body.uid } } as never, { cluster: name });
  return stale;
};

describe('a read after a command, without minSeq', () => {
  it(`is never stale: ${ROUNDS} creates and deletes at two replicas in turn`, async () => {
    const stale: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) stale.push(...(await staleAfterRound(round)));
    expect(stale).toEqual([]);
  }, 300_000);

  it('shows namespaces and connections that were just created, changed and removed', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [writer, reader] = [round % 2, (round + 1) % 2];
      const name = `fresh-${round}`;
      const lab = { provider: 'lab', region: `r-${round}`, settings: { endpoint: 'http://127.0.0.1:1' } };
      await gateway.ask('POST', '/ns', { body: { name }, replica: writer });
      expect((await gateway.ask('GET', `/ns/${name}`, { replica: reader })).status).toBe(200);
      await gateway.ask('DELETE', `/ns/${name}`, { replica: writer });
      const left = await gateway.ask<NamespaceList>('GET', '/ns', { replica: reader });
      expect(left.body.items.map((item) => item.name)).not.toContain(name);
      await gateway.ask('PUT', `/connections/${name}`, { body: lab, replica: writer });
      expect((await gateway.ask('GET', `/connections/${name}`, { replica: reader })).body).toMatchObject({
        region: `r-${round}`,
      });
      await gateway.ask('DELETE', `/connections/${name}`, { replica: writer });
      const list = await gateway.ask<ConnectionList>('GET', '/connections', { replica: reader });
      expect(list.body.items.map((item) => item.name)).not.toContain(name);
    }
  }, 60_000);

  it('shows cluster templates, realms and secrets of hooks that were just created and removed', async () => {
    const template = {
      apiVersion: MANIFEST_API_VERSION,
      kind: TEMPLATE_KIND,
      spec: { cluster: { version: '1.34.4' } },
    };
    const bodies: Readonly<Record<string, object>> = {
      'cluster-templates': template,
      realms: { issuerUrl: 'https://keycloak.example.com/realms/demo', clientId: 'fairlead', clientSecret: 'secret' },
      'addon-secrets': { values: { key: 'value' } },
      'hook-secrets': { value: 'a-secret-of-more-than-32-characters-for-hooks' },
    };
    const stale: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const [writer, reader] = [round % 2, (round + 1) % 2];
      const name = `fresh-${round}`;
      for (const [kind, body] of Object.entries(bodies)) {
        const path = `/ns/default/${kind}`;
        // Secrets have no route of their own to be read by.
        const isShown = async (): Promise<boolean> => {
          if (!kind.endsWith('-secrets'))
            return (await gateway.ask('GET', `${path}/${name}`, { replica: reader })).status === 200;
          const { body: list } = await gateway.ask<NamespaceList>('GET', path, { replica: reader });
          return list.items.some((item) => item.name === name);
        };
        const named = kind === 'cluster-templates' ? { ...body, metadata: { name } } : body;
        const made = await gateway.ask('PUT', `${path}/${name}`, { body: named, replica: writer });
        if (made.status >= 300) stale.push(`${path}/${name}: ${JSON.stringify(made.body)}`);
        if (!(await isShown())) stale.push(`${path}/${name}: not shown`);
        await gateway.ask('DELETE', `${path}/${name}`, { replica: writer });
        if (await isShown()) stale.push(`${path}/${name}: still shown`);
      }
    }
    expect(stale).toEqual([]);
  }, 120_000);

  it('keeps a namespace and a connection that a cluster was just created with', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [writer, reader] = [round % 2, (round + 1) % 2];
      const name = `kept-${round}`;
      await gateway.ask('POST', '/ns', { body: { name } });
      await gateway.ask('POST', `/ns/${name}/clusters`, { body: request('held'), replica: writer });
      const refused = await gateway.ask('DELETE', `/ns/${name}`, { replica: reader });
      expect([refused.status, refused.body['reason']]).toEqual([409, 'namespace.not-empty']);
    }
    const refused = await gateway.ask('DELETE', '/connections/lab', { replica: 1 });
    expect([refused.status, refused.body['reason']]).toEqual([409, 'connection.in-use']);
  }, 60_000);

  it('shows the operations of a cluster below the base path of CB-Ladybug, too', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `operated-${round}`;
      await gateway.ask('POST', clusters, { body: request(name), replica: round % 2 });
      const operations = await gateway.ask<OperationList>('GET', `/ladybug${clusters}/${name}/operations`, {
        replica: (round + 1) % 2,
      });
      expect([operations.status, operations.body.items?.length]).toEqual([200, 1]);
    }
  }, 60_000);
});
