//! Which textures and renderbuffers a context's calls reach: those that its framebuffers
//! have attached, and those that are bound to its texture and image units.
//!
//! Most programs have no images, and their calls are not followed. What a context had
//! bound before there was one, its driver is asked for.

use super::images::Used;
use crate::generated::types::*;
use foldhash::HashMap;

/// A texture or renderbuffer by its name in a share group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A texture.
    Texture(u32),
    /// A renderbuffer.
    Renderbuffer(u32),
}

/// What a framebuffer has attached.
#[derive(Clone, Debug)]
pub enum Attached {
    /// An object that has a name.
    Name(Name),
    /// An image, whose object was deleted while it was attached.
    Image(Used),
}

/// What the calls of one context reach.
#[derive(Debug, Default)]
pub struct Reach {
    /// Whether what was bound before is known.
    is_learned: bool,
    /// The framebuffer that is drawn to; 0: the surface.
    draw: u32,
    /// The one that is read.
    read: u32,
    /// By framebuffer, what is attached at which point; others were not seen yet.
    attached: HashMap<u32, Vec<(GLenum, Attached)>>,
    /// The texture unit that textures are bound to.
    unit: usize,
    /// By unit, the textures of `GL_TEXTURE_2D` and `GL_TEXTURE_EXTERNAL_OES`, where they
    /// were seen.
    textures: Vec<[Option<u32>; 2]>,
    /// The renderbuffer that is bound.
    renderbuffer: u32,
    /// Image units that shaders write to, with their textures.
    written: Vec<(u32, u32)>,
}

/// What a context has bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    /// `GL_ACTIVE_TEXTURE`.
    pub unit: GLenum,
    /// The framebuffer that is drawn to.
    pub draw: u32,
    /// The one that is read.
    pub read: u32,
    /// The renderbuffer.
    pub renderbuffer: u32,
}

/// More units than any board has.
const UNITS_MAX: usize = 1024;

/// The name of the texture binding of a target; none if images are no textures of that
/// target.
pub fn binding(target: GLenum) -> Option<GLenum> {
    Some([GL_TEXTURE_BINDING_2D, GL_TEXTURE_BINDING_EXTERNAL_OES][place(target)?])
}

/// A target's place in [`Reach::textures`]; none if images are no textures of that target.
fn place(target: GLenum) -> Option<usize> {
    match target {
        GL_TEXTURE_2D => Some(0),
        GL_TEXTURE_EXTERNAL_OES => Some(1),
        _ => None,
    }
}

/// Whether a target of framebuffers is that of reading alone.
fn reads(target: GLenum) -> bool {
    target == GL_READ_FRAMEBUFFER
}

impl Reach {
    /// Whether what was bound before is known.
    pub fn is_learned(&self) -> bool {
        self.is_learned
    }

    /// What was bound before.
    pub fn learn(&mut self, bound: Bound) {
        self.is_learned = true;
        (self.draw, self.read) = (bound.draw, bound.read);
        self.renderbuffer = bound.renderbuffer;
        self.activate(bound.unit);
    }

    /// Whether the framebuffer that is bound to a target was not seen yet.
    pub fn lacks_attached(&self, target: GLenum) -> bool {
        let framebuffer = self.framebuffer(target);
        framebuffer != 0 && !self.attached.contains_key(&framebuffer)
    }

    /// A framebuffer is bound.
    pub fn bind_framebuffer(&mut self, target: GLenum, framebuffer: u32) {
        if target != GL_DRAW_FRAMEBUFFER {
            self.read = framebuffer;
        }
        if !reads(target) {
            self.draw = framebuffer;
        }
    }

    /// The framebuffer that is bound to a target.
    fn framebuffer(&self, target: GLenum) -> u32 {
        if reads(target) { self.read } else { self.draw }
    }

    /// An object is attached to the framebuffer that is bound to a target; an object of
    /// name 0: none.
    pub fn attach(&mut self, target: GLenum, point: GLenum, name: Name) {
        let framebuffer = self.framebuffer(target);
        let attached = self.attached.entry(framebuffer).or_default();
        attached.retain(|(other, _)| *other != point);
        if framebuffer != 0 && !matches!(name, Name::Texture(0) | Name::Renderbuffer(0)) {
            attached.push((point, Attached::Name(name)));
        }
    }

    /// What is attached to the framebuffer that is bound to a target.
    pub fn attached(&self, target: GLenum) -> Vec<Attached> {
        let attached = self.attached.get(&self.framebuffer(target));
        let attached = attached.into_iter().flatten();
        attached.map(|(_, attached)| attached.clone()).collect()
    }

    /// What draws and shaders write to.
    pub fn written(&self) -> Vec<Attached> {
        let units = self.written.iter();
        let units = units.map(|&(_, texture)| Attached::Name(Name::Texture(texture)));
        let mut all = self.attached(GL_DRAW_FRAMEBUFFER);
        all.extend(units);
        all
    }

    /// `glActiveTexture`.
    pub fn activate(&mut self, unit: GLenum) {
        let unit = unit.wrapping_sub(GL_TEXTURE0);
        self.unit = usize::try_from(unit).map_or(UNITS_MAX, |unit| unit.min(UNITS_MAX));
    }

    /// A texture is bound to the active unit.
    pub fn bind_texture(&mut self, target: GLenum, texture: u32) {
        let Some(place) = place(target).filter(|_| self.unit < UNITS_MAX) else {
            return;
        };
        if self.textures.len() <= self.unit {
            self.textures.resize(self.unit + 1, [None; 2]);
        }
        if let Some(bound) = self.textures.get_mut(self.unit) {
            bound[place] = Some(texture);
        }
    }

    /// A renderbuffer is bound.
    pub fn bind_renderbuffer(&mut self, renderbuffer: u32) {
        self.renderbuffer = renderbuffer;
    }

    /// A texture is bound to an image unit.
    pub fn bind_image(&mut self, unit: u32, texture: u32, access: GLenum) {
        self.written.retain(|(other, _)| *other != unit);
        if texture != 0 && access != GL_READ_ONLY {
            self.written.push((unit, texture));
        }
    }

    /// The texture or renderbuffer that is bound to a target, where it is known.
    pub fn bound(&self, target: GLenum) -> Option<Name> {
        if target == GL_RENDERBUFFER {
            return Some(Name::Renderbuffer(self.renderbuffer));
        }
        let bound = self.textures.get(self.unit)?;
        bound[place(target)?].map(Name::Texture)
    }

    /// An object is deleted: it is bound nowhere. Framebuffers that are not bound keep
    /// its image.
    pub fn delete(&mut self, name: Name, image: Option<&Used>) {
        for (framebuffer, attached) in &mut self.attached {
            let is_it = |it: &Attached| matches!(it, Attached::Name(other) if *other == name);
            match image.filter(|_| ![self.draw, self.read].contains(framebuffer)) {
                Some(image) => attached
                    .iter_mut()
                    .filter(|(_, it)| is_it(it))
                    .for_each(|(_, it)| *it = Attached::Image(image.clone())),
                None => attached.retain(|(_, it)| !is_it(it)),
            }
        }
        match name {
            Name::Renderbuffer(name) if self.renderbuffer == name => self.renderbuffer = 0,
            Name::Renderbuffer(_) => {}
            Name::Texture(name) => {
                let bound = self.textures.iter_mut().flatten().flatten();
                bound.filter(|it| **it == name).for_each(|it| *it = 0);
                self.written.retain(|(_, texture)| *texture != name);
            }
        }
    }

    /// A framebuffer is deleted.
    pub fn delete_framebuffer(&mut self, framebuffer: u32) {
        self.attached.remove(&framebuffer);
        for bound in [&mut self.draw, &mut self.read] {
            if *bound == framebuffer {
                *bound = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE_ONLY: GLenum = 0x88B9;

    fn names(attached: Vec<Attached>) -> Vec<Name> {
        let name = |attached| match attached {
            Attached::Name(name) => name,
            Attached::Image(image) => panic!("deleted: {image:?}"),
        };
        attached.into_iter().map(name).collect()
    }

    #[test]
    fn draws_write_to_what_is_attached_and_to_image_units() {
        let mut reach = Reach::default();
        reach.attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, Name::Texture(9));
        reach.bind_framebuffer(GL_FRAMEBUFFER, 2);
        reach.attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, Name::Texture(4));
        reach.bind_framebuffer(GL_READ_FRAMEBUFFER, 3);
        reach.attach(
            GL_READ_FRAMEBUFFER,
            GL_COLOR_ATTACHMENT0,
            Name::Renderbuffer(5),
        );
        reach.bind_image(1, 6, WRITE_ONLY);
        reach.bind_image(2, 7, GL_READ_ONLY);
        assert_eq!(names(reach.written()), [Name::Texture(4), Name::Texture(6)]);
        assert_eq!(
            names(reach.attached(GL_READ_FRAMEBUFFER)),
            [Name::Renderbuffer(5)]
        );
        reach.attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, Name::Texture(0));
        reach.delete(Name::Texture(6), None);
        assert!(reach.written().is_empty());
        reach.bind_framebuffer(GL_FRAMEBUFFER, 3);
        assert_eq!(names(reach.written()), [Name::Renderbuffer(5)]);
        reach.delete_framebuffer(3);
        assert!(reach.written().is_empty());
        assert_eq!(reach.framebuffer(GL_FRAMEBUFFER), 0);
    }

    #[test]
    fn what_was_bound_before_is_learned() {
        let mut reach = Reach::default();
        assert!(!reach.is_learned() && !reach.lacks_attached(GL_FRAMEBUFFER));
        reach.learn(Bound {
            unit: GL_TEXTURE0 + 1,
            draw: 5,
            read: 6,
            renderbuffer: 7,
        });
        assert!(reach.is_learned() && reach.lacks_attached(GL_FRAMEBUFFER));
        assert!(reach.lacks_attached(GL_READ_FRAMEBUFFER));
        reach.attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, Name::Texture(0));
        assert!(!reach.lacks_attached(GL_FRAMEBUFFER));
        assert_eq!(reach.bound(GL_RENDERBUFFER), Some(Name::Renderbuffer(7)));
        reach.bind_texture(GL_TEXTURE_2D, 8);
        reach.activate(GL_TEXTURE0);
        assert_eq!(reach.bound(GL_TEXTURE_2D), None);
    }

    #[test]
    fn textures_are_bound_to_units() {
        let mut reach = Reach::default();
        reach.bind_texture(GL_TEXTURE_2D, 1);
        reach.activate(GL_TEXTURE0 + 3);
        reach.bind_texture(GL_TEXTURE_2D, 2);
        reach.bind_texture(GL_TEXTURE_EXTERNAL_OES, 5);
        assert_eq!(reach.bound(GL_TEXTURE_2D), Some(Name::Texture(2)));
        assert_eq!(reach.bound(GL_TEXTURE_EXTERNAL_OES), Some(Name::Texture(5)));
        assert_eq!(reach.bound(GL_RENDERBUFFER), Some(Name::Renderbuffer(0)));
        assert_eq!(reach.bound(GL_FRAMEBUFFER), None);
        reach.activate(GL_TEXTURE0 + 1);
        assert_eq!(reach.bound(GL_TEXTURE_2D), None);
        reach.activate(0);
        reach.bind_texture(GL_TEXTURE_2D, 8);
        assert_eq!(reach.bound(GL_TEXTURE_2D), None);
        reach.activate(GL_TEXTURE0);
        reach.delete(Name::Texture(1), None);
        assert_eq!(reach.bound(GL_TEXTURE_2D), Some(Name::Texture(0)));
    }
}
