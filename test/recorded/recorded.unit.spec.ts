import { describe, expect, it } from '@jest/globals';
import { shapeOf } from './recorded.js';

describe('the shape of an answer', () => {
  it.each([
    [
      '4: vethc1862838    inet6 fe80::6c03:79ff:fefb:b682/64 scope link',
      '5: veth8ec7c9bf    inet6 fe80::8:d1ff:fe5b:9e/64 scope link',
    ],
    ['{"size":"1.0 MB","took":"55.05178ms"}', '{"size":"983 kB","took":"7.1ms"}'],
    ['admin.conf   Nov 22, 2027 05:52 UTC   364d', 'admin.conf   Dec 1, 2028 15:02 UTC   365d'],
    ['b\na\n', 'a\nb\n'],
    ['cni-a4a3f810-9554-bb5b-152f-90f64a847bbc', 'cni-12fa1a28-5b0c-f0fc-f2c4-c3736b4f7741'],
    ['[{"address":"02:fa:c6:12:40:0b"}]\n', '[{"address":"ae:11:3c:00:9d:ff"},{"address":"02:fa:c6:12:40:0c"}]\n'],
  ])('ignores random parts: %s', (one, other) => expect(shapeOf(one)).toEqual(shapeOf(other)));

  it("differs if a tool's output differs", () =>
    expect(shapeOf('LoadState=loaded')).not.toEqual(shapeOf('LoadState=not-found')));
});
