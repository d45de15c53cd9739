import { describe, expect, it } from '@jest/globals';
import { BUILTIN_RESOURCES } from '../resources/builtin.resources.js';
import { messageSchema, schemaName } from './message.schema.js';
import { extractSchema, reachable } from './proto.extract.js';
import { decodeKubernetesProtobuf, ProtobufRefused } from './protobuf.decode.js';
import { pruneUnknown } from './unknown.fields.js';

/** A length-delimited field, a number field and text: the parts of protobuf's wire format that the bodies here need. */
const bytes = (number: number, ...parts: readonly Buffer[]): Buffer => {
  const value = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);
};
const text = (number: number, value: string): Buffer => bytes(number, Buffer.from(value));
const int = (number: number, value: number): Buffer => Buffer.from([number << 3, value]);
const body = (apiVersion: string, kind: string, ...object: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), bytes(1, text(1, apiVersion), text(2, kind)), bytes(2, ...object)]);

describe('A Kubernetes object in protobuf', () => {
  it('is decoded to the JSON that the same client would have sent', () => {
    const container = bytes(
      2,
      text(1, 'main'),
      text(2, 'nginx'),
      bytes(6, text(1, ''), int(2, 0), int(3, 80), text(4, '')),
      bytes(8, bytes(2, text(1, 'cpu'), bytes(2, text(1, '250m')))),
    );
    const template = bytes(3, bytes(1, bytes(11, text(1, 'app'), text(2, 'web'))), bytes(2, container));
    const strategy = bytes(
      4,
      bytes(2, bytes(1, int(1, 0), int(2, 1), text(3, '')), bytes(2, int(1, 1), int(2, 0), text(3, '25%'))),
    );
    const spec = bytes(2, int(1, 0), template, strategy, int(5, 0));

    expect(
      decodeKubernetesProtobuf(body('apps/v1', 'Deployment', bytes(1, text(1, 'web'), bytes(8)), spec, bytes(3))),
    ).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        // A zero pointer field is kept; a zero value field is dropped.
        replicas: 0,
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [
              {
                name: 'main',
                image: 'nginx',
                ports: [{ containerPort: 80 }],
                resources: { requests: { cpu: '250m' } },
              },
            ],
          },
        },
        strategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: '25%' } },
      },
      status: {},
    });
  });

  it('inlines members of embedded types as in JSON', () => {
    const volume = bytes(1, text(1, 'data'), bytes(2, bytes(2)));

    expect(decodeKubernetesProtobuf(body('v1', 'Pod', bytes(2, volume)))).toMatchObject({
      spec: { volumes: [{ name: 'data', emptyDir: {} }] },
    });
  });

  it('has times, negative numbers, bytes and extra values of a user as in JSON', () => {
    const minusOne = Buffer.from([3 << 3, ...Array.from({ length: 9 }, () => 0xff), 1]);
    const revision = bytes(2, bytes(1, Buffer.from('{"spec":{}}')));

    expect(
      decodeKubernetesProtobuf(
        body('apps/v1', 'ControllerRevision', bytes(1, bytes(8, int(1, 60), int(2, 5))), revision, minusOne),
      ),
    ).toMatchObject({
      metadata: { creationTimestamp: '1970-01-01T00:01:00Z' },
      data: { spec: {} },
      revision: -1,
    });
    expect(
      decodeKubernetesProtobuf(body('v1', 'Secret', bytes(2, text(1, 'key'), bytes(2, Buffer.from([1, 255]))))),
    ).toEqual({ apiVersion: 'v1', kind: 'Secret', data: { key: 'Af8=' } });
    const extra = bytes(4, text(1, 'scopes'), bytes(2, text(1, 'a'), text(1, 'b'), text(9, 'of a newer version')));
    expect(
      decodeKubernetesProtobuf(body('authentication.k8s.io/v1', 'SelfSubjectReview', bytes(2, bytes(1, extra)))),
    ).toMatchObject({
      status: { userInfo: { extra: { scopes: ['a', 'b'] } } },
    });
  });

  it.each([
    ['other bytes', Buffer.from('hello')],
    [
      'an embedded object that is not JSON',
      body('apps/v1', 'ControllerRevision', bytes(2, bytes(1, Buffer.from('{')))),
    ],
    ['a type that is not known', body('example.com/v1', 'Boat')],
    ['a body that ends too early', body('v1', 'Pod', bytes(2, text(1, 'x'))).subarray(0, 20)],
  ])('is refused if it is %s', (_, given) => {
    expect(() => decodeKubernetesProtobuf(given)).toThrow(ProtobufRefused);
  });
});

describe('Unknown fields', () => {
  it('are found by path and dropped, in lists and maps too', () => {
    const { object, unknown } = pruneUnknown('core.v1.Pod', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', lables: {} },
      spec: {
        containers: [{ name: 'a', imag: 'x', resources: { limits: { 'example.com/any': '1' } } }],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    });

    expect(unknown).toEqual(['metadata.lables', 'spec.containers[0].imag']);
    expect(object).toMatchObject({
      spec: {
        containers: [{ name: 'a', resources: { limits: { 'example.com/any': '1' } } }],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    });
  });

  it('are ignored in types without a schema', () => {
    expect(pruneUnknown('lab.v1.Boat', { anything: 1 }).unknown).toEqual([]);
  });
});

describe('The schema', () => {
  it('has every built-in type except those that other repositories define', () => {
    const missing = BUILTIN_RESOURCES.flatMap(({ group, version, otherVersions, kind }) =>
      [version, ...otherVersions].map((each) => schemaName(group === '' ? each : `${group}/${each}`, kind)),
    ).filter((name) => messageSchema(name) === undefined);

    expect(missing).toEqual(['apiextensions.v1.CustomResourceDefinition', 'apiregistration.v1.APIService']);
  });

  it('is extracted from proto and Go sources: numbers from the former, pointers from the latter', () => {
    const proto = `
package k8s.io.api.core.v1;
message Volume {
  // +optional
  optional string name = 1;
  optional VolumeSource volumeSource = 2;
  repeated .k8s.io.apimachinery.pkg.apis.meta.v1.Condition conditions = 3;
  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> sizes = 4;
  optional int32 mode = 5;
}
message Lonely {
  optional bool x = 1;
}
`;
    const go =
      'type Volume struct {\n\tName string `json:"name,omitempty" protobuf:"x"`\n\tMode *int32 `json:"mode,omitempty" protobuf:"x"`\n}\n';
    const lines = extractSchema([{ proto, go }]);

    expect(lines[0]).toBe(
      'core.v1.Volume ~name=1:string ^volumeSource=2:core.v1.VolumeSource conditions=3:*meta.v1.Condition sizes=4:%api.resource.Quantity mode=5:int32',
    );
    expect(reachable(lines, ['core.v1.Lonely'])).toEqual(['core.v1.Lonely x=1:bool']);
  });
});
