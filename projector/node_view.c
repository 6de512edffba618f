/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/node_view.h"

#include "common/api.h"
#include "common/assignment.h"

#define LABELS (KEY_ASSIGNED | KEY_CLIQUE)

/* Both annotations are of the same rack and the same Node. */
static bool
same_rack(struct str a, struct str b)
{
    struct arena arena = {0};
    struct assignment x;
    struct assignment y;
    bool same = assignment_decode(&x, a, &arena, NULL) == 0 &&
                assignment_decode(&y, b, &arena, NULL) == 0 &&
                str_eq(x.rack.name, y.rack.name) &&
                str_eq(x.rack.uid, y.rack.uid) &&
                str_eq(x.node_uid, y.node_uid);

    arena_fini(&arena);
    return same;
}

static void
read_labels(struct node_view *v, const struct intent_node *i)
{
    struct kube_meta_walk walk = {0};
    struct str key, value;

    while (kube_meta_label(&v->meta, &walk, &key, &value)) {
        if (str_is(key, LABEL_ASSIGNED)) {
            v->present |= KEY_ASSIGNED;
            v->right |= str_is(value, LABEL_TRUE) ? KEY_ASSIGNED : 0;
        } else if (str_is(key, LABEL_CLIQUE)) {
            v->present |= KEY_CLIQUE;
            v->right |= str_eq(value, i->clique) ? KEY_CLIQUE : 0;
        }
    }
}

void
node_view_compare(struct node_view *v, const struct intent_node *i)
{
    v->annotation = STR("");
    v->present = v->right = 0;
    v->names = false;
    read_labels(v, i);
    if (kube_meta_annotation_at(&v->meta, ANNOTATION_ASSIGNMENT,
                                &v->annotation) &&
        v->annotation.n > 0) {
        v->present |= KEY_ANNOTATION;
        v->right |= str_eq(v->annotation, i->annotation) ? KEY_ANNOTATION : 0;
        v->names = same_rack(v->annotation, i->annotation);
    }
    owned_keys_read(&v->owned, &v->meta);
}

int
node_view_read(struct node_view *v, struct str answer,
               const struct intent_node *i, struct err *err)
{
    *v = (struct node_view){0};
    if (kube_meta_answer(&v->meta, answer, err) != 0)
        return -1;
    node_view_compare(v, i);
    return 0;
}

void
node_view_fini(struct node_view *v)
{
    owned_keys_fini(&v->owned);
}

int
node_view_keys(const struct intent_node *i)
{
    return i->clique.n > 0 ? KEY_ALL : KEY_ALL & ~KEY_CLIQUE;
}

enum cleanup
node_view_cleanup(const struct node_view *v, const struct intent_node *i)
{
    return cleanup_judge(&(struct cleanup_view){
        .names = v->names,
        .present = v->present,
        .wrong = v->present & ~v->right & LABELS & node_view_keys(i),
        .ours = v->owned.ours,
    });
}

int
node_view_kept(const struct node_view *v, const struct intent_node *i)
{
    int kept = v->present & LABELS & node_view_keys(i);

    return v->names ? kept | KEY_ANNOTATION : kept;
}
