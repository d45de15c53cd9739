import { setTimeout as pause } from 'node:timers/promises';
import type { DesiredMachine, GroupRef } from '../../providers/provider.ports.js';
import { userData } from './cloud.init.js';
import * as answers from './openstack.answers.js';
import type { CloudCalls } from './openstack.calls.js';
import { connectionTag, groupMark, markIn, META, type Mark } from './openstack.marks.js';

/** The common settings of a group's new servers. */
export interface ServerSurroundings {
  readonly network: string;
  readonly firewall: string;
  readonly keypair: string;
  /** By their requested names. */
  readonly images: ReadonlyMap<string, answers.Image>;
  /** The image of machines that declare none. */
  readonly imageName: string;
  readonly flavors: readonly answers.Flavor[];
  /** The server group that separates control planes; undefined: none. */
  readonly serverGroup: string | undefined;
}

const CONTROL_PLANES = 'control-planes';
const ROLE_LABEL = 'fairlead.dev/role';
const POLICIES = { soft: 'soft-anti-affinity', required: 'anti-affinity' } as const;
const GONE: ReadonlySet<string> = new Set(['DELETED', 'SOFT_DELETED']);
const POLL_MS = 1_000;

export const isControlPlane = ({ labels }: DesiredMachine): boolean => labels[ROLE_LABEL] === 'control-plane';

export const groupNameOf = ({ metadata }: answers.Server): string => metadata[META.group] ?? '';
export const uidOf = ({ metadata }: answers.Server): string => metadata[META.uid] ?? '';
export const nodeNameOf = ({ metadata, name }: answers.Server): string => metadata[META.name] ?? name;
export const imageOf = ({ metadata }: answers.Server): string | undefined => metadata[META.image];

const isOf =
  ({ name, uid }: Pick<GroupRef, 'name' | 'uid'>) =>
  (server: answers.Server): boolean =>
    groupNameOf(server) === name && uidOf(server) === uid;

/**
 * A call that the cloud completed after its caller had timed out can leave two servers of one name: the older one is
 * the machine.
 */
const byAge = (one: answers.Server, other: answers.Server): number =>
  one.created.localeCompare(other.created) || one.id.localeCompare(other.id);

export const oldestOfEach = (servers: readonly answers.Server[]): ReadonlyMap<string, answers.Server> =>
  new Map(
    [...servers]
      .sort(byAge)
      .reverse()
      .map((server) => [`${uidOf(server)}/${nodeNameOf(server)}`, server]),
  );

/** The servers of a connection, identified by their marks. */
export class CloudServers {
  constructor(private readonly nova: CloudCalls) {}

  async all(): Promise<readonly answers.Server[]> {
    const { connection } = this.nova.session.at;
    const path = `/servers/detail?tags=${encodeURIComponent(connectionTag(connection))}`;
    const found = await this.nova.list(path, 'servers', answers.Server);
    return found.filter(({ status }) => !GONE.has(status));
  }

  async ofGroup(group: Pick<GroupRef, 'name' | 'uid'>): Promise<readonly answers.Server[]> {
    return (await this.all()).filter(isOf(group));
  }

  /** Resolves once Nova has accepted the request, not when the server runs. */
  async create(group: GroupRef, machine: DesiredMachine, around: ServerSurroundings): Promise<void> {
    const { name, spec, zone, rootDisk, image: imageName = around.imageName } = machine;
    const image = around.images.get(imageName);
    if (image === undefined) throw this.nova.refusal(`image ${imageName} was not looked up`);
    const flavor = around.flavors.find((one) => one.name === spec);
    if (flavor === undefined) throw this.nova.refusal(`the cloud has no machine size ${spec}`);
    const isDefault = (text: string): boolean => text === '' || text === 'default';
    const hasVolume = !isDefault(rootDisk.size) || !isDefault(rootDisk.type);
    if (hasVolume && isDefault(rootDisk.size) && flavor.disk === 0)
      throw this.nova.refusal(`${spec} has no disk, so the root disk needs a size`);
    const size = isDefault(rootDisk.size) ? flavor.disk : Number(rootDisk.size);
    const volume = {
      ...{ boot_index: 0, source_type: 'image', destination_type: 'volume', uuid: image.id },
      ...{ volume_size: size, delete_on_termination: true },
      ...(isDefault(rootDisk.type) ? {} : { volume_type: rootDisk.type }),
    };
    const server = {
      name,
      flavorRef: flavor.id,
      ...(hasVolume ? { block_device_mapping_v2: [volume] } : { imageRef: image.id }),
      networks: [{ uuid: around.network }],
      security_groups: [{ name: around.firewall }],
      key_name: around.keypair,
      user_data: userData(),
      config_drive: true,
      tags: [connectionTag(this.nova.session.at.connection)],
      metadata: this.metadataOf(group, name, imageName),
      ...(zone === undefined || zone === '' ? {} : { availability_zone: zone }),
    };
    const hints =
      around.serverGroup === undefined || !isControlPlane(machine)
        ? {}
        : { 'os:scheduler_hints': { group: around.serverGroup } };
    await this.nova.post('/servers', { server, ...hints }, answers.NewServer);
  }

  /**
   * Changes the server's metadata, which identify the owner and take effect at once; the server name is only for
   * display.
   */
  async adopt(group: GroupRef, machine: DesiredMachine, image: string): Promise<void> {
    const { name, adopts } = machine;
    if (adopts === undefined) return;
    const found = (await this.all()).find(({ id }) => id === adopts.id);
    if (found !== undefined && isOf(group)(found) && nodeNameOf(found) === name) return;
    if (found === undefined || groupNameOf(found) !== adopts.group)
      throw this.nova.refusal(`there is no server ${adopts.id} in ${adopts.group}`);
    const metadata = this.metadataOf(group, name, imageOf(found) ?? image);
    await this.nova.post(`/servers/${found.id}/metadata`, { metadata }, answers.Anything);
    await this.nova.put(`/servers/${found.id}`, { server: { name } }, answers.Anything);
  }

  /** Resolves once the server is gone, because only then its port and volume are. */
  async delete(id: string): Promise<void> {
    const path = `/servers/${encodeURIComponent(id)}`;
    await this.nova.delete(path);
    for (;;) {
      const found = (await this.nova.find(path, answers.OneServer))?.server;
      if (found === undefined || GONE.has(found.status)) return;
      const isOver = found.status === 'ERROR' && (found['OS-EXT-STS:task_state'] ?? null) === null;
      if (isOver && found.fault) throw this.nova.failure(`Nova could not delete ${found.name}: ${found.fault.message}`);
      await this.wait();
    }
  }

  async wait(): Promise<void> {
    const { signal } = this.nova;
    await pause(this.nova.session.limits.pollMs ?? POLL_MS, undefined, { signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  }

  /** The server groups of the connection. */
  async serverGroups(): Promise<readonly (answers.ServerGroup & { readonly mark: Mark })[]> {
    const all = await this.nova.list('/os-server-groups', 'server_groups', answers.ServerGroup);
    return all.flatMap((group) => {
      const mark = markIn(group.name, this.nova.session.at.connection);
      return mark === undefined ? [] : [{ ...group, mark }];
    });
  }

  /**
   * Ensures the server group that places the control planes of a cluster on different hypervisors; undefined if
   * disabled in the settings.
   */
  async ensureServerGroup(group: GroupRef): Promise<string | undefined> {
    const { antiAffinity } = this.nova.session.at.settings;
    if (antiAffinity === 'none') return undefined;
    const name = groupMark(group, CONTROL_PLANES);
    const [found] = (await this.serverGroups()).filter((one) => one.name === name);
    if (found !== undefined) return found.id;
    const body = { server_group: { name, policy: POLICIES[antiAffinity] } };
    return (await this.nova.post('/os-server-groups', body, answers.OneServerGroup)).server_group.id;
  }

  async deleteServerGroups(isOfIt: (mark: Mark) => boolean): Promise<void> {
    for (const { id, mark } of await this.serverGroups())
      if (isOfIt(mark)) await this.nova.delete(`/os-server-groups/${id}`);
  }

  private metadataOf({ name, uid }: GroupRef, machine: string, image: string): Readonly<Record<string, string>> {
    return { [META.group]: name, [META.uid]: uid, [META.name]: machine, [META.image]: image };
  }
}
