package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	commandPrefix = "reroll.cmd"
	// commandTime is how long a command may take until its answer.
	commandTime = 15 * time.Second
	// maxCommands is how many commands are carried out at once. Those beyond wait for their turn.
	maxCommands = 16
)

var (
	// ErrNobodyListens means that no dispatcher of the cluster takes commands now. The command was not carried out.
	ErrNobodyListens = errors.New("no dispatcher takes commands")
	// ErrNoAnswer means that a command was given and no answer came in time: it may have been carried out.
	ErrNoAnswer = errors.New("no answer to the command")
)

// Command gives c to the dispatcher of its cluster and returns the answer. Nothing is stored: what nobody takes now fails with
// ErrNobodyListens and is never carried out later. After any other error it may have been carried out.
func (q *Queue) Command(ctx context.Context, c reloader.Command) (reloader.CommandAnswer, error) {
	var answer reloader.CommandAnswer
	if err := c.Validate(); err != nil {
		return answer, err
	}
	data, err := reloader.Encode(c)
	if err != nil {
		return answer, err
	}
	ctx, release := q.bounded(ctx, commandTime, commandPrefix)
	defer release()
	reply, err := q.nc.RequestMsgWithContext(ctx, newMessage(commandSubject(c), "command", c.Cluster, c.At, data))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return answer, fmt.Errorf("%w of cluster %s", ErrNobodyListens, c.Cluster)
	case err != nil:
		return answer, fmt.Errorf("%w %s: %w", ErrNoAnswer, c.ID, explain(ctx, err))
	}
	answer, err = reloader.Decode[reloader.CommandAnswer](reply.Data)
	if err == nil && (answer.ID != c.ID || answer.Cluster != c.Cluster) {
		err = fmt.Errorf("%w %s: what came is the answer to another", ErrNoAnswer, c.ID)
	}
	return answer, err
}

// ServeCommands has carry carry out each command that is given to cluster, and sends what it returns as the answer. It returns nil when ctx
// ends, when the last command was carried out, ErrClosed when the queue is closed, and another error only if it cannot begin. Of several
// processes that serve the same cluster one gets each command.
func (q *Queue) ServeCommands(ctx context.Context, cluster string, carry func(context.Context, reloader.Command) reloader.CommandAnswer) error {
	filter, err := clusterFilter(commandPrefix, cluster)
	if err != nil {
		return fmt.Errorf("serve commands: %w", err)
	}
	ctx, leave, err := q.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s := commandServer{q: q, cluster: cluster, carry: carry, slots: semaphore.NewWeighted(maxCommands)}
	sub, err := q.nc.QueueSubscribe(filter, "dispatch", func(m *nats.Msg) { s.receive(ctx, m) })
	if err != nil {
		return fmt.Errorf("serve commands of %s: %w", cluster, explain(ctx, err))
	}
	<-ctx.Done()
	_ = sub.Unsubscribe() // it fails if the connection is gone, and the subscription with it
	s.running.Wait()
	return ended(ctx)
}

// commandServer carries out the commands of one cluster.
type commandServer struct {
	q       *Queue
	cluster string
	carry   func(context.Context, reloader.Command) reloader.CommandAnswer
	slots   *semaphore.Weighted
	running sync.WaitGroup
}

// receive takes one message. It blocks while as many commands as may be are being carried out.
func (s *commandServer) receive(ctx context.Context, m *nats.Msg) {
	c, err := readCommand(m)
	if err != nil {
		s.q.log.Warn("a command cannot be read", "cluster", s.cluster, "subject", m.Subject, "error", err)
		return
	}
	if s.slots.Acquire(ctx, 1) != nil {
		return
	}
	s.running.Go(func() {
		defer s.slots.Release(1)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTime)
		defer cancel()
		s.answer(m, s.carry(limited, c))
	})
}

func (s *commandServer) answer(m *nats.Msg, answer reloader.CommandAnswer) {
	data, err := reloader.Encode(answer)
	if err == nil {
		err = m.RespondMsg(newMessage(m.Reply, "command-answer", s.cluster, time.Now(), data))
	}
	if err != nil {
		s.q.log.Warn("the answer to a command could not be sent", "command", answer.ID, "error", err)
	}
}

// readCommand decodes m and checks that it is what its subject says: who may publish for one cluster must not speak for another.
func readCommand(m *nats.Msg) (reloader.Command, error) {
	c, err := reloader.Decode[reloader.Command](m.Data)
	if err != nil {
		return c, err
	}
	if subject := commandSubject(c); subject != m.Subject {
		return c, fmt.Errorf("command %s to %s came on the subject of another", c.Verb, c.Cluster)
	}
	return c, nil
}

func commandSubject(c reloader.Command) string {
	return commandPrefix + "." + escape(c.Cluster) + "." + escape(string(c.Verb))
}
