import * as z from 'zod';

/** Responses of OpenStack services; unknown fields are ignored. */

const Id = z.string().min(1).max(255);
const text = z.string().nullish();

export const Token = z.object({
  token: z.object({
    expires_at: z.iso.datetime({ offset: true }),
    project: z.object({ id: Id, name: z.string() }),
    catalog: z.array(
      z.object({
        type: z.string(),
        endpoints: z.array(z.object({ interface: z.string(), region_id: text, region: text, url: z.string() })),
      }),
    ),
  }),
});
export type Token = z.infer<typeof Token>;

/**
 * An error response: an object whose member has any name (`forbidden`, `NeutronError`) and contains the message; in
 * Octavia, the message itself.
 */
export const Problem = z.record(z.string(), z.union([z.object({ message: z.string() }), z.string(), z.null()]));

export const Version = z.object({ version: z.object({ version: z.string() }) });

export const Flavor = z.object({ id: Id, name: z.string(), vcpus: z.int(), ram: z.int(), disk: z.number() });
export type Flavor = z.infer<typeof Flavor>;

export const Zones = z.object({
  availabilityZoneInfo: z.array(z.object({ zoneName: z.string(), zoneState: z.object({ available: z.boolean() }) })),
});

export const Limits = z.object({ limits: z.object({ absolute: z.record(z.string(), z.number()) }) });

export const NetworkQuota = z.object({ quota: z.record(z.string(), z.number()) });

export const OneKeypair = z.object({ keypair: z.object({ name: z.string(), public_key: z.string() }) });

export const Server = z.object({
  id: Id,
  name: z.string(),
  status: z.string(),
  created: z.string(),
  key_name: text,
  metadata: z.record(z.string(), z.string()),
  flavor: z.object({ original_name: text }).nullish(),
  fault: z.object({ message: z.string() }).nullish(),
  addresses: z.record(
    z.string(),
    z.array(z.object({ addr: z.string(), version: z.int(), 'OS-EXT-IPS:type': z.string().nullish() })),
  ),
  'OS-EXT-AZ:availability_zone': text,
  'OS-EXT-STS:task_state': text,
});
export type Server = z.infer<typeof Server>;
export const OneServer = z.object({ server: Server });
export const NewServer = z.object({ server: z.object({ id: Id }) });

export const ServerGroup = z.object({ id: Id, name: z.string() });
export type ServerGroup = z.infer<typeof ServerGroup>;
export const OneServerGroup = z.object({ server_group: ServerGroup });

export const Image = z.object({ id: Id, name: text, status: z.string(), os_distro: text, os_version: text });
export type Image = z.infer<typeof Image>;
export const Images = z.object({ images: z.array(Image) });

export const Network = z.object({ id: Id, name: z.string(), description: text, subnets: z.array(Id) });
export type Network = z.infer<typeof Network>;
export const OneNetwork = z.object({ network: Network });

export const Subnet = z.object({ id: Id, name: z.string(), cidr: z.string(), ip_version: z.int() });
export type Subnet = z.infer<typeof Subnet>;
export const OneSubnet = z.object({ subnet: Subnet });

export const Router = z.object({ id: Id, name: z.string(), description: text });
export type Router = z.infer<typeof Router>;
export const OneRouter = z.object({ router: Router });

export const SecurityGroupRule = z.object({
  id: Id,
  direction: z.string(),
  ethertype: text,
  protocol: z.union([z.string(), z.int()]).nullish(),
  port_range_min: z.int().nullish(),
  port_range_max: z.int().nullish(),
  remote_ip_prefix: text,
  remote_group_id: text,
});
export type SecurityGroupRule = z.infer<typeof SecurityGroupRule>;

export const SecurityGroup = z.object({
  id: Id,
  name: z.string(),
  description: text,
  tags: z.array(z.string()).default([]),
  security_group_rules: z.array(SecurityGroupRule),
});
export type SecurityGroup = z.infer<typeof SecurityGroup>;
export const OneSecurityGroup = z.object({ security_group: SecurityGroup });

export const Port = z.object({
  id: Id,
  name: z.string(),
  description: text,
  fixed_ips: z.array(z.object({ subnet_id: text, ip_address: z.string() })),
  allowed_address_pairs: z.array(z.object({ ip_address: z.string() })).default([]),
});
export type Port = z.infer<typeof Port>;
export const OnePort = z.object({ port: Port });

export const FloatingIp = z.object({
  id: Id,
  description: text,
  floating_ip_address: z.string(),
  port_id: text,
});
export type FloatingIp = z.infer<typeof FloatingIp>;
export const OneFloatingIp = z.object({ floatingip: FloatingIp });

export const Identified = z.object({ id: Id });

export const Anything = z.unknown();
