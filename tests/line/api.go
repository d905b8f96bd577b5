package line

import "context"

// StartAPI starts a process of the role api alone, over the records at an external NATS, and returns when it is ready. The caller ends it.
func StartAPI(ctx context.Context, natsURL string, flags ...string) (*Reroll, error) {
	addresses, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	r := &Reroll{
		API: "http://" + addresses[0], Ops: "http://" + addresses[1],
		arguments: append([]string{"api", "--nats-url", natsURL, "--api-address", addresses[0], "--metrics-address", addresses[1]}, flags...),
	}
	if r.binary, err = Build(ctx); err != nil {
		return nil, err
	}
	if err := r.Start(); err != nil {
		return nil, err
	}
	if err := r.WaitReady(ctx); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}
