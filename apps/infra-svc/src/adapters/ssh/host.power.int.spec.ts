import type { ClusterUid, Namespace, NodeName } from '@fairlead/contracts';
import { describeWith } from '@fairlead/testing/programs';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { MachineAnswer, MachineGroup } from '../../providers/provider.ports.js';
import { SITE } from '../../stock/stock.fixtures.js';
import { RedfishStandIn } from '../power/redfish.fixtures.js';
import { Rack } from './rack.fixtures.js';

const REF = 'gateway.connection.site.bmc';

describeWith('openssl')('hosts of an inventory whose power can be switched', () => {
  let rack: Rack;
  let controller: RedfishStandIn;
  const signal = (): AbortSignal => AbortSignal.timeout(30_000);

  const group = (): MachineGroup => ({
    name: 'default.demo.site',
    namespace: 'default' as Namespace,
    cluster: 'demo',
    uid: randomUUID() as ClusterUid,
    image: 'as-installed',
    network: 'n',
    firewall: 'f',
    sshKey: 'k',
    machines: [
      {
        name: 'demo-w-1-aaaaa' as NodeName,
        spec: 'ssh.any',
        zone: undefined,
        rootDisk: { type: 'default', size: 'default' },
        labels: {},
      },
    ],
  });

  const provider = (credential = REF) => {
    const { url, certificate } = controller;
    const power = { redfish: { url, credentialRef: credential, fingerprint: certificate.fingerprint } };
    return rack.open({ hosts: rack.inventory().map((host) => ({ ...host, power })) });
  };

  const make = async (wanted: MachineGroup): Promise<MachineAnswer> => {
    for await (const answer of provider().ensureMachines(wanted, signal())) return answer;
    throw new Error('no machine');
  };

  const view = async () => {
    const { held, withheld } = await rack.stock.look(SITE);
    return { held: held.length, withheld: withheld.length };
  };

  const whyKept = (): unknown =>
    rack.log.events.flatMap(({ type, data }) =>
      type === 'HostWithheld' ? [(data as { cause: { message: string } }).cause.message] : [],
    )[0];

  /** Its SSH server runs while its power is on. */
  const followPower = (): void => {
    controller.onChange = (power) => void (power === 'On' ? rack.hosts[0]!.comeBack() : rack.hosts[0]!.goAway());
  };

  beforeEach(async () => {
    rack = await Rack.start(1, 73);
    controller = await new RedfishStandIn().start();
    rack.secrets.set(REF, controller.login);
  });

  afterEach(async () => {
    await controller.stop();
    await rack.stop();
  });

  it('are listed as such, and those without are not', async () => {
    await make(group());
    expect(await provider().listMachines(signal())).toMatchObject([{ power: true }]);
    expect((await rack.open().listMachines(signal()))[0]).not.toHaveProperty('power');
  });

  it('are switched by name, and by the ID of their machine while a cluster has them', async () => {
    const wanted = group();
    const { id } = await make(wanted);
    expect(await provider().power!.act('rack-1', 'off', signal())).toBe('off');
    expect(await provider().power!.cycleMachine(id, signal())).toBe(true);
    expect(controller.power).toBe('On');
    controller.asked.length = 0;
    expect(await provider().power!.cycleMachine('rack-1/another', signal())).toBe(false);
    expect(controller.asked).toEqual([]);
    await expect(provider().power!.act('rack-9', 'off', signal())).rejects.toThrow('no host rack-9');
  });

  it('are power-cycled in a wipe if they do not answer, and are free afterwards', async () => {
    const wanted = group();
    const { id } = await make(wanted);
    followPower();
    await rack.hosts[0]!.goAway();
    await provider().deleteMachine(id, signal());
    expect(await view()).toEqual({ held: 0, withheld: 0 });
    expect(controller.asked.filter((asked) => asked.startsWith('POST'))).toHaveLength(2);
  });

  it('are switched off if they do not answer even then, so that nothing of the cluster runs on, and say so', async () => {
    const { id } = await make(group());
    await rack.hosts[0]!.goAway();
    await provider().deleteMachine(id, signal());
    expect([await view(), controller.power]).toEqual([{ held: 0, withheld: 1 }, 'Off']);
    expect(whyKept()).toMatch(
      /does not answer .*it was power-cycled and still does not answer, so its power was switched off$/,
    );
    followPower();
    await provider().recover!(signal());
    expect([await view(), controller.power]).toEqual([{ held: 0, withheld: 0 }, 'On']);
  });

  it('stay on in a wipe that they answer, also if it fails or their key is refused', async () => {
    const { id } = await make(group());
    await rack.hosts[0]!.goAway();
    await rack.hosts[0]!.comeBack();
    rack.hosts[0]!.isLocked = true;
    await provider().deleteMachine(id, signal());
    expect([await view(), controller.asked]).toEqual([{ held: 0, withheld: 1 }, []]);
  });

  it('are kept out with both reasons if their controller does not answer either', async () => {
    const { id } = await make(group());
    await rack.hosts[0]!.goAway();
    rack.secrets.set(REF, 'admin:wrong');
    await provider().deleteMachine(id, signal());
    expect(whyKept()).toMatch(
      /does not answer .*its power could not be switched: its management controller: it does not accept/,
    );
  });
});
